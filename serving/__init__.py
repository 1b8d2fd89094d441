"""The service that predicts, watches what it is asked, and says when it drifts."""
