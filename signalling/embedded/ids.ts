import { randomUUID } from 'node:crypto'

/** Returns a message or transaction id of the application protocol. */
export function newUuid(): string {
  return randomUUID()
}

/** Returns a From or To tag of more than 64 random bits (RFC 3261 19.3 asks for at least 32). */
export function newTag(): string {
  return randomUUID().replaceAll('-', '').slice(0, 20)
}

export function newBranch(): string {
  return `z9hG4bK${randomUUID().replaceAll('-', '')}`
}

export function newCallId(): string {
  return randomUUID()
}
