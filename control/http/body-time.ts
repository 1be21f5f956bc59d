import type { Request, Response } from 'express'
import type { Clock } from '../../media/base/clock.js'

/** Longest time for a body that is read as a whole, and longest pause of one that is read while it arrives (ms). */
export const BODY_MS = 30_000

/** Closes the connection of a request that was answered before its body came, if the rest does not come in time. */
export function limitRest(request: Request, response: Response, clock: Clock): void {
  response.once('finish', () => {
    if (request.complete) return
    const { socket } = request
    const timer = clock.after(BODY_MS, () => socket.destroy())
    const over = (): void => {
      timer.cancel()
      socket.off('close', over)
    }
    request.once('end', over)
    socket.once('close', over)
  })
}
