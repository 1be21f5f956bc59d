import type { ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

/**
 * Sends content as fast as the client takes it. Resolves when all was sent or the client has gone away, perhaps with all
 * that it wanted. Rejects when the content breaks off, whatever its error is.
 */
export async function sendContent(content: Readable, response: ServerResponse): Promise<void> {
  let isGone = response.destroyed
  let broken: Error | null = null
  response.once('close', () => {
    isGone = true
  })
  // A client that goes away ends the content with an error, too, but later.
  content.once('error', (error) => {
    if (!isGone) broken = error
  })
  try {
    await pipeline(content, response)
  } catch (error) {
    if (broken !== null) throw broken
    if (!isGone) throw error
  }
}
