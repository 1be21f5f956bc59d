import { EXAMPLE_ULID } from './document-examples.js'

/**
 * Example request bodies by operation id, for operations whose schema cannot generate a useful example. A
 * test validates them against the schemas, and the contract fuzzer sends them. The ids in them do not
 * exist.
 */
export const EXAMPLE_BODIES: Readonly<Record<string, unknown>> = {
  createAgent: {
    name: 'Front desk',
    systemPrompt: 'You are the receptionist of {{clinic}}. Answer briefly.',
    llmModel: 'parley-rules-1',
    inputVariables: [
      {
        name: 'clinic',
        description: 'Name of the clinic',
        required: false,
        default: 'Smile Dental Clinic',
      },
    ],
    voice: {
      languages: ['en-IN'],
      sttLanguage: 'en-IN',
      sttModel: 'parley-sandbox',
      ttsModel: 'espeak-ng',
      ttsVoice: 'asha',
    },
    tools: [{ name: 'end_call', description: 'Ends the call.', preset: 'end_call' }],
    callSettings: {
      businessName: 'Smile Dental Clinic',
      openingLine: { text: 'Hello, this is Smile Dental Clinic.' },
      maxCallSeconds: 300,
    },
  },
  updateAgent: { name: 'Evening desk', callSettings: { maxCallSeconds: 600 } },
  publishAgent: { note: 'Shorter opening line' },
  updateNumber: { label: 'Main line', agentId: `agt_${EXAMPLE_ULID}`, recordCalls: true },
  placeCall: {
    to: '+919000000010',
    numberId: `num_${EXAMPLE_ULID}`,
    variables: { clinic: 'Smile Dental Clinic' },
    metadata: { order: '17' },
  },
  createSecret: { name: 'CRM', value: 'a-token-of-the-crm', hosts: ['crm.example.com'] },
  createSandboxInboundCall: { numberId: `num_${EXAMPLE_ULID}`, from: '+919876543210', persona: 'polite' },
  declareRobocalls: {
    provider: 'Airtel',
    reference: 'AD-2025-0042',
    objective: 'Appointment reminders',
    callerIds: ['+918041234567'],
    declaredOn: '2024-06-01',
    effectiveFrom: '2024-06-15',
  },
  submitSenderId: {
    series: '1600',
    e164: '+911600123456',
    category: 'transactional',
    dltHeaderId: '1101234567890123456',
  },
  setOrganizationLimits: {
    reason: 'Agreed with the customer',
    requestsPerMinute: { live: 1200 },
    agentCalls: { live: 50 },
  },
}
