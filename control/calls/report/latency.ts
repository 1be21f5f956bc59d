import type { TurnTrace } from '../../../media/agent/conversation-events.js'
import type { BotStats } from '../../../media/byo/bot-event.js'

export interface CallLatency {
  /** Media live to the agent's first sound. */
  readonly firstAudioMs: number | null
  /** End of the caller's speech to the first packet of the reply. */
  readonly turnP50Ms: number | null
  readonly turnP95Ms: number | null
}

/** What a caller waited for; null when the agent never said anything. */
export function callLatency(traces: readonly TurnTrace[], firstAgentMs: number | null): CallLatency | null {
  return latencyOf(
    traces.flatMap((trace) =>
      trace.firstPacketMs === null ? [] : [trace.firstPacketMs - trace.speechEndMs],
    ),
    firstAgentMs,
  )
}

/** The same of a customer's bot; null when it never said anything. */
export function botLatency({ replyMs, firstAudioMs }: BotStats): CallLatency | null {
  return latencyOf(replyMs, firstAudioMs)
}

function latencyOf(unsorted: readonly number[], firstAgentMs: number | null): CallLatency | null {
  const waits = [...unsorted].sort((a, b) => a - b)
  if (waits.length === 0 && firstAgentMs === null) return null
  return {
    firstAudioMs: firstAgentMs === null ? null : Math.round(firstAgentMs),
    turnP50Ms: percentile(waits, 0.5),
    turnP95Ms: percentile(waits, 0.95),
  }
}

/** Nearest rank of a sorted list; null when it is empty. */
function percentile(sorted: readonly number[], share: number): number | null {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]
  return value === undefined ? null : Math.round(value)
}
