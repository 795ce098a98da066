"""Step 4, first half: documents that are no web pages (PDF, PostScript, docx, odt, EPUB, gzip, zip), made readable.

`reading.py` is the door. What takes documents apart runs in processes of its own (`child.py`), which load little.
"""
