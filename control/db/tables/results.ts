/** Result of a conversation, extracted after the call. */
export interface CallResultRow {
  readonly callId: string
  readonly organizationId: string
  readonly state: 'pending' | 'done' | 'failed'
  readonly summary: string | null
  /** JSON: values by output variable, and a list of evaluated criteria. */
  readonly outputs: string
  readonly evaluation: string
  /** Error message if the extraction failed. `model_cannot_answer` if the agent's model cannot extract. */
  readonly error: string | null
  /**
   * 1 if `call.completed` was recorded. This happens once, when the result is available or after the time
   * limit.
   */
  readonly announced: number
  readonly createdAt: number
  readonly updatedAt: number
}

export interface ResultTables {
  callResults: CallResultRow
}
