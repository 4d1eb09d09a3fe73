"""The pure half: stories of facts, and exactly what is decided on them."""
