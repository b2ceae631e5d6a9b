"""What the end-to-end tests are made of: a server under test, clients of our own, and the tools around them."""
