import type { Incoming } from '../user-agent/pending-requests.js'
import { type Dialog, dialogId } from './dialog.js'

/** A dialog before the final response to its INVITE (RFC 3261 12.1). */
export interface Early {
  readonly dialog: Dialog
  /** The peer's INVITE while our application answers it; null when the INVITE is ours. */
  readonly incoming: Incoming | null
}

/**
 * The early dialogs. An INVITE of ours may have several under one id, one a fork; an INVITE of a
 * peer has one.
 */
export class EarlyTable {
  readonly #byId = new Map<string, Early[]>()

  get size(): number {
    let size = 0
    for (const list of this.#byId.values()) size += list.length
    return size
  }

  /** All of that id, the oldest first. */
  of(id: string): readonly Early[] {
    return this.#byId.get(id) ?? []
  }

  /** The one a received request belongs to. */
  match(callId: string, fromTag: string, toTag: string): Early | null {
    const fits = (tags: string, local: string, remote: string): Early | null =>
      this.of(dialogId(callId, tags)).find(
        ({ dialog }) => dialog.localTag === local && dialog.remoteTag === remote,
      ) ?? null
    return fits(fromTag, toTag, fromTag) ?? fits(toTag, toTag, fromTag)
  }

  add(early: Early): void {
    const { id } = early.dialog
    const list = this.#byId.get(id)
    if (list) list.push(early)
    else this.#byId.set(id, [early])
  }

  /** Takes a dialog out: it is confirmed now, or over. */
  remove(dialog: Dialog): void {
    const left = this.of(dialog.id).filter((early) => early.dialog !== dialog)
    if (left.length > 0) this.#byId.set(dialog.id, left)
    else this.#byId.delete(dialog.id)
  }

  /** Ends them all. */
  clear(): void {
    for (const list of this.#byId.values()) for (const { dialog } of list) dialog.end()
    this.#byId.clear()
  }
}
