"""The apprentice strategy: link features as arrays, an online model, and a pool of waiting links scored together."""
