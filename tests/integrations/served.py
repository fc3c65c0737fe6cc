"""An ASGI application under uvicorn on loopback, in a thread of this process."""

import socket
import threading
from contextlib import contextmanager


@contextmanager
def served(app):
    """Run an application, and give its URL."""
    import uvicorn

    started = threading.Event()

    class Server(uvicorn.Server):
        async def startup(self, sockets=None):
            await super().startup(sockets)
            started.set()

    server = Server(uvicorn.Config(app, log_level="error"))
    with socket.create_server(("127.0.0.1", 0)) as listening:
        # asyncio does it only for sockets that name their protocol. Without it, head and body of an
        # answer are 40 ms apart.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        assert started.wait(60), "the server did not start"
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(60)
