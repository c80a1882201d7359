"""Progress: which thread polls, which runs functions, which sleeps; and the queue in front of the transport.

Knows transports and futures, but neither calls nor messages. An agent has one `Progress`.
"""
