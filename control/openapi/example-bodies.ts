import { EXAMPLE_ULID } from './document-examples.js'

/**
 * Example request bodies by operation id, for operations whose schema cannot generate a useful example. A
 * test validates them against the schemas, and the contract fuzzer sends them. The ids in them do not
 * exist.
 */
export const EXAMPLE_BODIES: Readonly<Record<string, unknown>> = {
  verifyLogin: { challengeId: `mfc_${EXAMPLE_ULID}`, code: '123456' },
  confirmFactor: { code: '123456' },
  requestBrowserCall: { purpose: 'talk', agentId: `agt_${EXAMPLE_ULID}`, version: 'draft' },
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
  checkCompliance: { e164: '+919876543210', purpose: 'promotional', at: '2025-01-10T10:00:00Z' },
  createConsent: {
    e164: '+919876543210',
    purpose: 'promotional',
    kind: 'explicit',
    scope: 'Calls about offers of the clinic',
    source: 'web_form',
    evidenceRef: 'https://clinic.example/consents/17',
    capturedAt: '2025-01-10T10:00:00Z',
  },
  importConsents: {
    records: [
      {
        e164: '+919876543210',
        purpose: 'service',
        kind: 'inferred',
        scope: 'Calls about the treatment',
        source: 'contract',
        capturedAt: '2025-01-10T10:00:00Z',
        expiresAt: '2026-01-10T10:00:00Z',
      },
    ],
  },
  revokeConsent: { reason: 'Asked by e-mail' },
  createDncEntry: { e164: '+919876543210', reason: 'Asked by e-mail' },
  importDncEntries: { entries: [{ e164: '+919876543210', source: 'complaint' }] },
  updateNumber: { label: 'Main line', agentId: `agt_${EXAMPLE_ULID}`, recordCalls: true },
  setNumberSip: { sipUri: 'sip:pbx.example.com:5061', transport: 'tls' },
  purchaseNumber: { e164: '+919000000101', provider: 'sandbox', confirmedTotalPaise: 60_000 },
  placeCall: {
    to: '+919000000010',
    numberId: `num_${EXAMPLE_ULID}`,
    variables: { clinic: 'Smile Dental Clinic' },
    metadata: { order: '17' },
  },
  createTransferDestination: {
    e164: '+919000000020',
    key: 'front_desk',
    label: 'Front desk',
    hours: [{ days: 'mon-fri', from: '09:30', to: '18:00' }],
    language: 'hi-IN',
  },
  updateTransferDestination: { label: 'Evening desk', hours: null },
  confirmTransferDestination: { code: '000000' },
  createCampaign: {
    name: 'Appointment reminders',
    agentId: `agt_${EXAMPLE_ULID}`,
    numberId: `num_${EXAMPLE_ULID}`,
    pacing: { callsPerMinute: 20, maxConcurrent: 4 },
    retries: { attempts: 3, backoff: 'exponential', intervalMinutes: 60, on: ['no_answer', 'busy'] },
    schedule: { weekdays: 31, windowStartMinute: 600, windowEndMinute: 1080 },
  },
  updateCampaign: { name: 'Reminders of the week' },
  addRecipients: {
    recipients: [
      { e164: '+919000000010', externalId: 'patient-17', variables: { clinic: 'Smile Dental Clinic' } },
    ],
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
  receiveCarrierCallback: {
    CallUUID: 'd4a1f0c2-0001',
    SIPCallID: '6f9619ff-8b86-d011-b42d-00cf4fc964ff',
    Status: 'completed',
    Billsec: 0,
  },
  receivePaymentEvent: {
    entity: 'event',
    event: 'payment.captured',
    payload: { payment: { entity: { id: 'pay_PARLEYtest0001', order_id: 'order_PARLEYtest0001' } } },
  },
}
