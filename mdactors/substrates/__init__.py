"""What starts and watches processes."""
