"""MindSpore callbacks that fit what training knew and watch the training itself."""
