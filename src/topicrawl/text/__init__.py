"""Text processing: tokens, stems, sentences, collocations, vectors and ontologies."""
