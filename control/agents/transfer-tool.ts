import type { ToolSpec } from '../../media/agent/agent-spec.js'
import { DESTINATION_ARGUMENTS } from '../../media/agent/tools/service-tools.js'
import type { AgentConfig } from './config.js'

/** Names of a transfer destination as the model learns them. */
export interface DestinationName {
  readonly id: string
  readonly key: string
  readonly label: string
}

const TOOL = 'transfer_call'
const PURPOSE = 'Hands the call to a person. Use it when the caller asks for a person or a destination fits.'
const text = { type: 'string', required: false } as const
const REASON = { ...text, name: 'reason', description: 'Why the caller needs a person.' } as const
const NOTE = { ...text, name: 'note', description: 'What the person should know before the call.' } as const

/**
 * Tells the model where it may transfer. Each tool with the preset `transfer_call` gets the keys of the destinations.
 * An agent without such a tool gets one, unless a tool of the author has its name. Without destinations nothing changes.
 */
export function withTransferTool(
  tools: readonly ToolSpec[],
  config: AgentConfig,
  known: readonly DestinationName[],
): readonly ToolSpec[] {
  const { destinations, defaultDestinationId } = config.callSettings.transfer
  const offered = destinations.flatMap(({ destinationId, when }) => {
    const name = known.find(({ id }) => id === destinationId)
    return name === undefined ? [] : [{ ...name, when }]
  })
  if (offered.length === 0) return tools
  const first = offered.find(({ id }) => id === defaultDestinationId)
  const lines = offered.map(({ key, label, when }) => `* ${key} (${label})${when === '' ? '' : `: ${when}`}`)
  const list = `Destinations:\n${lines.join('\n')}`
  const destination = {
    name: 'destination',
    description:
      first === undefined ? 'Key of the destination.' : `Key of the destination. Default: ${first.key}.`,
    type: 'string',
    required: first === undefined,
    values: offered.map(({ key }) => key),
  } as const
  const told = tools.map((tool) => {
    if (tool.action.kind !== TOOL) return tool
    const named = tool.parameters.some(({ name }) => DESTINATION_ARGUMENTS.includes(name))
    return {
      ...tool,
      description: `${tool.description}\n\n${list}`,
      parameters: named ? tool.parameters : [destination, ...tool.parameters],
    }
  })
  if (config.tools.some(({ name, preset }) => preset === TOOL || name === TOOL)) return told
  const parameters = [destination, REASON, NOTE]
  const description = `${PURPOSE}\n\n${list}`
  return [...told, { name: TOOL, description, parameters, speech: {}, action: { kind: TOOL } }]
}
