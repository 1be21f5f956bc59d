import type { Clock } from '../media/base/clock.js'
import type { Log } from '../media/base/log.js'
import type { CallControl, SandboxRinger } from '../signalling/ports.js'
import type { Settings } from './config.js'
import type { Db } from './db/open.js'
import type { RootKey } from './root-key.js'

/** What operations work with; made once in main. */
export interface Deps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly rootKey: RootKey
  readonly calls: CallControl
  readonly ringer: SandboxRinger
  readonly settings: Settings
}
