"""Raw arrays to signals: one extractor a file, the same code in training and in serving."""
