"""Evaluate strategies on recorded webs: simulation, measures, comparisons and reports."""
