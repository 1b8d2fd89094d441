"""The service at home in what people run already: Prometheus, Alertmanager, webhooks."""
