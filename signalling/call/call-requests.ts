import type { AgentSpec } from '../../media/agent/agent-spec.js'
import { errorText } from '../../media/base/errors.js'
import type { TransferRequest, TransferUpdate } from '../../media/byo/dialects/wire-format.js'
import type { SessionEvent } from '../../workers/channel/protocol.js'
import type { ReferReport } from '../sip/dialog-port.js'
import { onlyUserIn } from '../sip/sip-uri.js'
import type { CallId } from './call-events.js'
import type { CallDeps } from './call-options.js'

/** SIP statuses that report the steps of a transfer in the NOTIFYs of a REFER (RFC 3515 2.4.5). */
const REFER_STATUS: Readonly<Record<TransferUpdate['status'], readonly [number, string]>> = {
  accepted: [100, 'Trying'],
  ringing: [180, 'Ringing'],
  answered: [183, 'Session Progress'],
  completed: [200, 'OK'],
  rejected: [603, 'Decline'],
  failed: [503, 'Service Unavailable'],
}

/** Requests of the agent, of the bot and of the far side of one call that ports outside the call answer. */
export class CallRequests {
  readonly #callId: CallId
  readonly #agent: () => AgentSpec | null
  readonly #deps: Pick<CallDeps, 'pool' | 'log' | 'tools' | 'transfers'>
  /** Number of REFERs received. */
  #refers = 0

  /** `agent` returns the agent that speaks, or null while none does. */
  constructor(
    callId: CallId,
    agent: () => AgentSpec | null,
    deps: Pick<CallDeps, 'pool' | 'log' | 'tools' | 'transfers'>,
  ) {
    this.#callId = callId
    this.#agent = agent
    this.#deps = deps
  }

  /**
   * Passes a REFER of the far side to the port for transfers; its steps are those of a transfer. Returns false
   * when the REFER is refused.
   */
  refer(target: string, report: ReferReport): boolean {
    const { transfers } = this.#deps
    const destination = onlyUserIn(target)
    if (transfers === undefined || destination === '') return false
    const request = {
      destination,
      destinationId: null,
      handoff: 'cold',
      blind: null,
      note: null,
      reason: 'REFER',
    } as const
    transfers.request(this.#callId, { ...request, id: `refer-${++this.#refers}` }, ({ status }) => {
      const [code, reason] = REFER_STATUS[status]
      report(code, reason)
    })
    return true
  }

  /** Passes a transfer request of the bot on. `hasEnded` tells whether the call still takes updates. */
  transfer(request: TransferRequest, hasEnded: () => boolean): void {
    const report = (update: TransferUpdate): void => {
      if (hasEnded()) return
      this.#deps.pool.transferUpdate(this.#callId, update).catch((error: unknown) => {
        this.#deps.log.warn({ callId: this.#callId, error: errorText(error) }, 'call.transfer_update_lost')
      })
    }
    const { transfers } = this.#deps
    if (transfers !== undefined) transfers.request(this.#callId, request, report)
    else
      report({
        id: request.id,
        status: 'rejected',
        code: 'not_supported',
        message: 'transfers are not supported',
      })
  }

  /** Runs a tool. The agent waits for the result, so every request gets one. */
  useTool({ request, tool, arguments: given }: SessionEvent & { readonly type: 'tool_request' }): void {
    const found = this.#agent()?.tools.find(({ name }) => name === tool)
    const { tools } = this.#deps
    const running =
      found === undefined || tools === undefined
        ? Promise.resolve(`Failed: there is no tool named ${tool}.`)
        : tools.run(this.#callId, found, given)
    running
      .catch((error: unknown) => {
        this.#deps.log.error({ callId: this.#callId, tool, error: errorText(error) }, 'call.tool_failed')
        return 'Failed: the request could not be carried out.'
      })
      .then((result) => this.#deps.pool.toolResult(this.#callId, request, result))
      .catch((error: unknown) => {
        // The call ended in the meantime.
        this.#deps.log.info({ callId: this.#callId, tool, error: errorText(error) }, 'call.tool_result_late')
      })
  }
}
