/*
 * The files that took longest (s), slowest first, for a clone that has no times of its own yet: the longest file must not begin
 * last. The compiled files are `dist/<name>.test.js`.
 */
export const SLOW_TESTS = {
  'control/e2e/outbound/campaign.long': 350,
  'control/e2e/dashboard/screens.long': 284,
  'control/wallet/call-survival.long': 270,
  'control/openapi/contract-fuzz.long': 248,
  'workers/pool/soak.long': 200,
  'control/e2e/lifecycle/fuzz.long': 171,
  'control/e2e/dashboard/browser-calls.long': 148,
  'control/webhooks/delivery-survival.long': 132,
  'control/e2e/dashboard/long-lists.long': 127,
  'control/e2e/dashboard/newcomer.long': 125,
  'control/e2e/outbound/conversations.long': 114,
  'control/e2e/outbound/asterisk-transfers.long': 109,
  'control/e2e/outbound/live-path.long': 96,
  'control/e2e/dashboard/dashboard.service': 70,
  'control/e2e/dashboard/newcomer.service': 65,
  'control/e2e/lifecycle/shutdown.service': 50,
  'control/e2e/lifecycle/two-processes.service': 47,
  'control/e2e/lifecycle/shared-recordings.service': 45,
  'fixtures/virtual-call/virtual-dialler.net': 50,
  'signalling/call/call-transfer.net': 46,
  'control/objects/object-store.net': 38,
  'workers/pool/media-pool.net': 36,
  'control/campaigns/dial-job.db': 41,
  'control/calls/lifecycle/transactions.db': 18,
}
