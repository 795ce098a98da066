"""Read-only checks of the installation, the machine and a collection, with advice on how to fix problems."""
