"""Recrawling: policies, the schedule of due pages, the recrawl queue and the recrawl sink."""
