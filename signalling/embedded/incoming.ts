import type { Timer } from '../../media/base/clock.js'
import type { App } from './control.js'
import type { Dialog } from './dialog.js'
import type { Essentials } from './screen.js'
import type { SipRequest } from './sip-message.js'
import type { ServerTransaction } from './transaction-server.js'
import type { Flow } from './transport.js'

/** A peer's request on its way through an application, until its final response. */
export interface Incoming {
  readonly id: string
  /** As received, with `received` and `rport` in the top Via. */
  readonly request: SipRequest
  readonly essentials: Essentials
  readonly flow: Flow
  readonly key: string
  readonly transaction: ServerTransaction
  readonly app: App
  /** Set for requests inside a dialog. */
  readonly dialog: Dialog | null
  /** Our To tag: made with the first response above 100, or chosen by the application. */
  localTag: string | null
  /** The application's time is over when this runs. */
  deadline: Timer | null
}
