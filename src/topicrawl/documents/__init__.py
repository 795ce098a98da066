"""Document conversion: PDF, PostScript, docx, odt, EPUB, gzip and zip to HTML that the page parsers read.

`reader.py` is the entry point. The converters run in child processes (`child_process.py`), which import little.
"""
