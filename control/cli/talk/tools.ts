import type { AgentSpec, ToolAction } from '../../../media/agent/agent-spec.js'
import { toolResultText } from '../../../media/agent/tools/service-tools.js'
import type { ToolRunner } from '../../../media/agent/tools/tool-calls.js'
import type { Clock } from '../../../media/base/clock.js'
import { errorText } from '../../../media/base/errors.js'
import type { openEgress } from '../../net/egress.js'
import { sendToolRequest } from '../../tools/send-request.js'
import type { PlayedTransfer } from './played-transfer.js'
import type { Printer } from './printer.js'

/** HTTP tools are sent without credentials: this command may read the agent but not its secrets. */
export function openTalkTools(
  spec: AgentSpec,
  {
    egress,
    clock,
    printer,
    transfer,
  }: {
    readonly egress: ReturnType<typeof openEgress>
    readonly clock: Clock
    readonly printer: Printer
    readonly transfer?: PlayedTransfer
  },
): ToolRunner {
  return {
    run({ tool, arguments: args }, done) {
      let cancelled = false
      const found = spec.tools.find(({ name }) => name === tool)
      const sent =
        found?.action.kind === 'http'
          ? sendToolRequest({
              egress,
              organizationId: 'cli',
              clock,
              tool: found.action.request,
              args,
              secrets: { primary: null, secondary: null },
            })
          : Promise.resolve(`Failed: there is no request named ${tool}.`)
      sent.then(
        (result) => {
          if (!cancelled) done(result)
        },
        (error: unknown) => {
          if (!cancelled) done(`Failed: ${errorText(error)}`)
        },
      )
      return {
        cancel: () => {
          cancelled = true
        },
      }
    },
    ...(transfer === undefined
      ? {}
      : {
          serve: (request, done) => {
            const kind = spec.tools.find(({ name }) => name === request.tool)?.action.kind
            if (kind === 'transfer_call') return transfer.serve(request, done)
            queueMicrotask(() => done(notHere(kind)))
            return { cancel: () => {} }
          },
        }),
    press(digits) {
      printer.line(`keys   ${digits}`)
      return true
    },
  }
}

/** Result that the model receives for a preset that needs a live call. */
function notHere(kind: ToolAction['kind'] | undefined): string {
  return kind === 'opt_out' || kind === 'schedule_callback'
    ? toolResultText(kind, { status: 'not_available' })
    : 'Failed: the request could not be carried out.'
}
