"""Train, package, serve, drift, alert, on scikit-learn's digits."""
