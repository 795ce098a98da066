"""Shared crawls: worker sessions, synchronisation of models and steering, URL sharing, gathering of results."""
