import type { IncomingRequest } from '../user-agent/pending-requests.js'
import { type Dialog, dialogId } from './dialog.js'

/** A dialog before the final response to its INVITE (RFC 3261 12.1). */
export interface EarlyDialog {
  readonly dialog: Dialog
  /** The INVITE of the peer while our application answers it; null when the INVITE is ours. */
  readonly incoming: IncomingRequest | null
}

/**
 * The early dialogs. An INVITE of ours has one per fork, all with the same id; an INVITE of a peer has one.
 */
export class EarlyDialogTable {
  readonly #byId = new Map<string, EarlyDialog[]>()

  get size(): number {
    let size = 0
    for (const list of this.#byId.values()) size += list.length
    return size
  }

  /** Returns all early dialogs with this id, oldest first. */
  findAll(id: string): readonly EarlyDialog[] {
    return this.#byId.get(id) ?? []
  }

  /** Returns the early dialog of a received request, or null. */
  match(callId: string, fromTag: string, toTag: string): EarlyDialog | null {
    const find = (tags: string, local: string, remote: string): EarlyDialog | null =>
      this.findAll(dialogId(callId, tags)).find(
        ({ dialog }) => dialog.localTag === local && dialog.remoteTag === remote,
      ) ?? null
    return find(fromTag, toTag, fromTag) ?? find(toTag, toTag, fromTag)
  }

  add(early: EarlyDialog): void {
    const { id } = early.dialog
    const list = this.#byId.get(id)
    if (list) list.push(early)
    else this.#byId.set(id, [early])
  }

  /** Removes a dialog that was confirmed or has ended. */
  remove(dialog: Dialog): void {
    const left = this.findAll(dialog.id).filter((early) => early.dialog !== dialog)
    if (left.length > 0) this.#byId.set(dialog.id, left)
    else this.#byId.delete(dialog.id)
  }

  /** Ends and removes all early dialogs. */
  clear(): void {
    for (const list of this.#byId.values()) for (const { dialog } of list) dialog.end()
    this.#byId.clear()
  }
}
