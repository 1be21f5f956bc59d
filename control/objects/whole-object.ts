import { buffer } from 'node:stream/consumers'
import type { ObjectStore } from './object-store.js'

/** Reads a whole object. Returns null when there is none. */
export async function readObject(objects: ObjectStore, key: string): Promise<Buffer | null> {
  const stream = await objects.get(key)
  return stream === null ? null : buffer(stream)
}

/** Writes a whole object. */
export async function writeObject(objects: ObjectStore, key: string, bytes: Uint8Array): Promise<void> {
  await objects.put(key, once(bytes), { maxBytes: bytes.length })
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
