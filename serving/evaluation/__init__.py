"""From counts to what is said of them: evaluated in one worker, told the same by all."""
