"""A bot for a number in `byo_ws`, type `static`, format `mulaw`, 8000 Hz: the whole protocol it needs.

    python3 bot.py             says back what the caller says
    python3 bot.py barge-in    hums until the caller speaks, listens, and hums again

Needs the package `websockets` (Debian: python3-websockets). The caller's sound comes as messages of
20 ms; what is sent back may have any length and come as fast as one likes: it is queued and played in
order.
"""

import asyncio
import base64
import json
import os
import sys

import websockets

MODE = sys.argv[1] if len(sys.argv) > 1 else "echo"
PORT = int(os.environ.get("PORT", "8090"))

# Five seconds of a soft 400 Hz hum, as µ-law: 20 samples a turn of the wave, 0x9f and 0x1f its hills.
HUM = bytes(0x9F if i % 20 < 10 else 0x1F for i in range(40_000))


def is_loud(sound: bytes) -> bool:
    """µ-law counts down from silence (0xff, 0x7f): small numbers are loud."""
    return sum(1 for code in sound if code & 0x7F < 0x50) > len(sound) / 4


async def call(socket, _path=None):
    async def send(message):
        await socket.send(json.dumps(message))

    async def say(sound):
        await send({"event": "media", "media": {"payload": base64.b64encode(sound).decode()}})

    async def sing():
        await say(HUM)
        # Comes back when all before it was played, or with status "cleared".
        await send({"event": "mark", "mark": {"name": "hum"}})

    singing = False
    async for text in socket:
        if isinstance(text, bytes):
            continue  # no such message in this protocol
        message = json.loads(text)
        event = message.get("event")
        if event == "start":
            print(f"call from {message['start']['from']} to {message['start']['to']}", flush=True)
            if MODE == "barge-in":
                singing = True
                await sing()
        elif event == "media":
            sound = base64.b64decode(message["media"]["payload"])
            if MODE == "echo":
                await say(sound)
            elif singing and is_loud(sound):
                singing = False
                await send({"event": "clear"})
        elif event == "mark" and MODE == "barge-in":
            singing = True
            await sing()
        elif event == "dtmf":
            print(f"key {message['dtmf']['digit']}", flush=True)
            # Everything that waits is played, then the call ends.
            if message["dtmf"]["digit"] == "#":
                await send({"event": "hangup"})
        elif event == "stop":
            print(f"over: {message['stop']['reason']}", flush=True)


async def main():
    async with websockets.serve(call, "127.0.0.1", PORT, compression=None) as server:
        port = server.sockets[0].getsockname()[1]
        print(f"listening on ws://127.0.0.1:{port}/ ({MODE})", flush=True)
        await asyncio.Future()


try:
    asyncio.run(main())
except KeyboardInterrupt:
    pass
