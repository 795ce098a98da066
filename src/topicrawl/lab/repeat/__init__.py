"""Repeat the experiments of the papers on recorded webs: their crawlers, budgets, measures, tables and figures."""
