import { randomUUID } from 'node:crypto'

/** Message and transaction ids of the application protocol. */
export function newUuid(): string {
  return randomUUID()
}

/** A From or To tag, 64 random bits or more (RFC 3261 19.3 asks for 32). */
export function newTag(): string {
  return randomUUID().replaceAll('-', '').slice(0, 20)
}

export function newBranch(): string {
  return `z9hG4bK${randomUUID().replaceAll('-', '')}`
}

export function newCallId(): string {
  return randomUUID()
}
