"""A Flask application of one's own with a scikit-learn model, watched."""
