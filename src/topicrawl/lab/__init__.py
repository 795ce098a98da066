"""From visits to numbers: recorded webs, measures, comparisons."""
