"""How soon drift is seen and how often stable traffic is called drift, measured beside others."""
