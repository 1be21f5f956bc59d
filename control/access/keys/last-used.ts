import type { Clock, Timer } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { Log } from '../../../media/base/log.js'
import type { Db } from '../../db/database.js'

const FLUSH_MS = 5000

/**
 * Writes `lastUsedAt` of API keys in batches: a key with a thousand requests a second costs one update every
 * five seconds. `close` writes the pending values.
 */
export interface LastUsedWriter {
  record(keyId: string): void
  close(): Promise<void>
}

export function openLastUsedWriter(db: Db, clock: Clock, log: Log): LastUsedWriter {
  let pending = new Map<string, number>()
  let timer: Timer | null = null
  let writing: Promise<void> = Promise.resolve()
  let closed = false

  async function write(uses: ReadonlyMap<string, number>): Promise<void> {
    try {
      for (const [keyId, at] of uses) {
        await db
          .updateTable('apiKeys')
          .set({ lastUsedAt: at })
          .where('id', '=', keyId)
          .where((eb) => eb.or([eb('lastUsedAt', 'is', null), eb('lastUsedAt', '<', at)]))
          .execute()
      }
    } catch (error) {
      // The value only informs people. The next use writes it again.
      log.warn({ error: errorText(error) }, 'key_last_use.store_failed')
    }
  }

  function flush(): Promise<void> {
    timer?.cancel()
    timer = null
    const uses = pending
    pending = new Map()
    if (uses.size > 0) writing = writing.then(() => write(uses))
    return writing
  }

  return {
    record(keyId) {
      if (closed) return
      pending.set(keyId, clock.wall())
      timer ??= clock.after(FLUSH_MS, () => void flush())
    },
    close() {
      closed = true
      return flush()
    },
  }
}
