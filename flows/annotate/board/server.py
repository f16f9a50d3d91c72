"""The board's server, on this machine and for whoever has the login only."""

import socket
import threading
from hashlib import sha256
from pathlib import Path

import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, PlainTextResponse

from flows.annotate.board.page import Filters, board_page
from flows.annotate.board.reading import Board
from flows.annotate.hours import HOURS
from flows.loopback.guard import HOST, App, Guard

SCRIPT = Path(__file__).parent / "board.js"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


def board_app(board: Board, login: str) -> App:
    """Return the server of a board."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)

    @app.get("/")
    def page(
        request: Request, rubric: str = "", form: str = "", person: str = "", look: str = "", kind: str = ""
    ) -> Response:
        text = board_page(board.seen(), Filters(rubric, form, person, bool(look), kind))
        tag = f'"{sha256(text.encode()).hexdigest()[:16]}"'
        headers = {**HEADERS, "ETag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return HTMLResponse(text, headers=headers)

    @app.get("/board.js")
    def script() -> Response:
        return Response(SCRIPT.read_bytes(), media_type="text/javascript", headers=HEADERS)

    @app.get(f"/{Path(HOURS).name}")
    def hours() -> Response:
        path = board.out / HOURS
        if not path.exists():
            return PlainTextResponse("no pull has written the hours yet", 404, HEADERS)
        named = {"Content-Disposition": f'attachment; filename="{path.name}"'}
        return Response(path.read_bytes(), media_type="text/csv", headers={**HEADERS, **named})

    return Guard(app, login)


def listen_on(port: int) -> socket.socket:
    """Return a socket that listens on this machine. Raises `OSError` if the port is taken."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        listening.listen()  # from here on, whoever comes waits for the server, and is not refused
    except OSError:
        listening.close()
        raise
    return listening


def serve_board(board: Board, login: str, listening: socket.socket) -> None:
    """Serve the board until the process is stopped, and renew it beside."""
    threading.Thread(target=board.run, daemon=True).start()
    config = uvicorn.Config(
        board_app(board, login), log_level="error", access_log=False, server_header=False, timeout_graceful_shutdown=1
    )
    uvicorn.Server(config).run(sockets=[listening])
