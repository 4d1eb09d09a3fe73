"""The language of the platform: facts in the past tense, and the words they are made of."""
