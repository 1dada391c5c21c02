"""The Python program that runs inside a sandbox and executes instructions.

It is two processes. The *relay* (process 1 of the sandbox) owns the pipes to the supervisor, the
queue, the numbered frames and the capture pipes; it never runs a line of the user's code. The
*worker*, its only child, runs the user's code and nothing else of importance. So code that holds
the interpreter lock, exhausts memory, closes every descriptor, or kills its own process cannot stop
the control channel, and what the worker printed before it died is still delivered.
"""
