// Generated from docs/openapi.json by `npm run openapi`. Changes here are lost.

import type { EventStream } from '../event-stream.js'
import { HttpClient, type Page, type RequestOptions, type UploadBody } from '../http-client.js'
import type {
  AcceptInvitationBody,
  AddFactorBody,
  AddRecipientsBody,
  AdjustWalletBody,
  AdjustWalletResult,
  Agent,
  ApiKey,
  ApproveSipTrunkBody,
  AuditLog,
  AvailableNumbers,
  BrowserCall,
  BuildKnowledgeBaseResult,
  Call,
  CallEvidence,
  CallMonitors,
  CallTimeline,
  CallTransfers,
  Callback,
  Campaign,
  CampaignOutcomes,
  CancelCallbackBody,
  CarrierCallback,
  ChangeMemberRoleBody,
  ChangePasswordBody,
  CheckComplianceBody,
  CheckEmailAvailableBody,
  Compliance,
  ComplianceCheck,
  ConfirmFactorBody,
  ConfirmFactorResult,
  ConfirmTransferDestinationBody,
  Connection,
  Consent,
  Consents,
  CreateAgentBody,
  CreateApiKeyBody,
  CreateCampaignBody,
  CreateConnectionBody,
  CreateConsentBody,
  CreateDncEntryBody,
  CreateKnowledgeBaseBody,
  CreateKnowledgeUploadBody,
  CreateSandboxInboundCallBody,
  CreateSecretBody,
  CreateSipTrunkBody,
  CreateTopupBody,
  CreateTransferDestinationBody,
  CreateVerificationUploadBody,
  CreateWebhookBody,
  DecideOrganizationVerificationBody,
  DecideSenderIdBody,
  DecideSipAccessRequestBody,
  DecideWalletAdjustmentBody,
  DeclareRobocallsBody,
  DisableSipTrunkBody,
  DncEntry,
  DndScrub,
  Email,
  EmailAvailable,
  EnableSipTrunkBody,
  Erasure,
  Event,
  Events,
  EvidenceHead,
  ExportCallsQuery,
  Factor,
  Factors,
  Failed,
  ForgotPasswordBody,
  Handoff,
  HangUpCallBody,
  ImportConsentsBody,
  ImportDncEntriesBody,
  ImportDndScrubQuery,
  ImportSipTrunkNumbersBody,
  In,
  Invitation,
  InviteMemberBody,
  Invoice,
  KnowledgeBase,
  KnowledgeBaseAgents,
  KnowledgeBuild,
  KnowledgeDocument,
  KnowledgeUpload,
  LaunchCampaignBody,
  LeakedKeys,
  Ledger,
  Limits,
  ListAgentVersionsQuery,
  ListAgentsQuery,
  ListApiKeysQuery,
  ListAuditLogQuery,
  ListCallMonitorsQuery,
  ListCallbacksQuery,
  ListCallsQuery,
  ListCampaignChecksQuery,
  ListCampaignsQuery,
  ListComplianceChecksQuery,
  ListConnectionsQuery,
  ListConsentsQuery,
  ListDncEntriesQuery,
  ListDndScrubsQuery,
  ListEventsQuery,
  ListInvitationsQuery,
  ListInvoicesAsStaffQuery,
  ListInvoicesQuery,
  ListKnowledgeBaseAgentsQuery,
  ListKnowledgeBasesQuery,
  ListKnowledgeBuildsQuery,
  ListKnowledgeDocumentsQuery,
  ListLedgerQuery,
  ListMembersQuery,
  ListNumberRegionsQuery,
  ListNumbersQuery,
  ListOrganizationsQuery,
  ListPaymentExceptionsQuery,
  ListRecipientsQuery,
  ListRobocallDeclarationsQuery,
  ListSecretsQuery,
  ListSecurityEventsQuery,
  ListSenderIdsQuery,
  ListSipAccessRequestsQuery,
  ListSipTrunkNumbersQuery,
  ListSipTrunksQuery,
  ListStaffSecurityEventsQuery,
  ListTransferDestinationsQuery,
  ListWalletAdjustmentsQuery,
  ListWebhookDeliveriesQuery,
  ListWebhooksQuery,
  ListenTicket,
  LogInBody,
  Member,
  MemberRole,
  Models,
  NarrowApiKeyBody,
  NoteOnCallBody,
  NoteOnCallResult,
  Number,
  NumberCarriers,
  NumberRegions,
  NumberSip,
  OnCall,
  Open,
  Organization,
  OrganizationAsStaff,
  Organizations,
  Overview,
  PauseCampaignBody,
  PaymentEvent,
  PaymentException,
  PersonEvidence,
  PlaceCallBody,
  PreflightCampaignBody,
  PublishAgentBody,
  PublishAgentResult,
  PurchaseNumberBody,
  ReadApiKeyResult,
  ReadHandoffQuery,
  ReadPersonEvidenceQuery,
  ReadSipTrunkResult,
  ReadVerificationResult,
  ReadWalletUsageQuery,
  ReadWebhookResult,
  ReceiveCarrierCallbackBody,
  ReceiveCarrierCallbackQuery,
  ReceivePaymentEventBody,
  Recipient,
  Recipients,
  Recording,
  RecoveryCodes,
  RedeliverEventBody,
  RedeliverEventResult,
  RedeliverFailedBody,
  ReleaseTakeoverBody,
  ReleaseTakeoverResult,
  ReplaceSecretBody,
  ReportLeakedKeysBody,
  RequestBrowserCallBody,
  RequestSipTrunkAccessBody,
  ResendVerificationBody,
  ResetPasswordBody,
  ResolvePaymentExceptionBody,
  ResumeCampaignBody,
  RevokeConsentBody,
  Robocalls,
  RollApiKeyBody,
  RollApiKeyResult,
  RollWebhookSecretResult,
  RollbackAgentBody,
  SandboxInboundCall,
  SayOnCallBody,
  SearchAvailableNumbersQuery,
  SearchKnowledgeBaseQuery,
  SearchKnowledgeBaseResult,
  Secret,
  SecurityEvents,
  SenderId,
  SetAgentSenderClassificationBody,
  SetKillSwitchBody,
  SetNumberInboundBody,
  SetNumberSipBody,
  SetOrganizationLimitsBody,
  SetSenderClassificationBody,
  SetSipTrunkRightsBody,
  SetWalletHoldBody,
  SignUpBody,
  SipAccessRequest,
  SipTrunk,
  SipTrunkEntitlement,
  SipTrunkNumbers,
  StartErasureBody,
  StartTakeoverBody,
  StopCampaignBody,
  SubmitSenderIdBody,
  SubmitVerificationBody,
  Takeover,
  TestConnectionResult,
  TestSipTrunkBody,
  TestWebhookResult,
  Topup,
  Transcript,
  TransferCallBody,
  TransferCallResult,
  TransferDestination,
  Up,
  UpdateAgentBody,
  UpdateAgentQuery,
  UpdateCampaignBody,
  UpdateConnectionBody,
  UpdateKnowledgeBaseBody,
  UpdateNumberBody,
  UpdateOrganizationBody,
  UpdateSipTrunkBody,
  UpdateTransferDestinationBody,
  UpdateWalletSettingsBody,
  UpdateWebhookBody,
  Verification,
  VerificationUpload,
  VerifyEmailBody,
  VerifyLoginBody,
  VerifyTransferDestinationBody,
  Voices,
  Wallet,
  WalletAdjustment,
  WalletUsage,
  WatchHandoffQuery,
  WatchLiveQuery,
  Webhook,
  WebhookDelivery,
  WebhookSecret,
  WebhookSigningSecret,
  Whoami,
} from './types.js'

/** Every operation of the API as a method. */
export class Api extends HttpClient {
  /** Create an API key. The key gets at most the scopes that your role allows. The key itself appears only in this response. */
  createApiKey(input: { readonly body: CreateApiKeyBody }, options: RequestOptions = {}): Promise<ApiKey> {
    return this.send({ method: 'POST', path: '/v1/api-keys', reply: 'data' }, input, options)
  }

  /** List API keys. Keys of the current environment, newest first. Needs the scope `read`. */
  listApiKeys(input: { readonly query?: ListApiKeysQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ReadApiKeyResult>> {
    return this.send({ method: 'GET', path: '/v1/api-keys', reply: 'list' }, input, options)
  }

  /** Get an API key. Returns the first characters of the key, never the key itself. Needs the scope `read`. */
  readApiKey(input: { readonly id: string }, options: RequestOptions = {}): Promise<ReadApiKeyResult> {
    return this.send({ method: 'GET', path: '/v1/api-keys/{id}', reply: 'data' }, input, options)
  }

  /** Remove scopes from an API key. Scopes cannot be added: create a new key instead. Needs the scope `admin`. */
  narrowApiKey(input: { readonly id: string; readonly body: NarrowApiKeyBody }, options: RequestOptions = {}): Promise<ReadApiKeyResult> {
    return this.send({ method: 'PATCH', path: '/v1/api-keys/{id}', reply: 'data' }, input, options)
  }

  /** Revoke an API key. Takes effect immediately. Needs the scope `admin`. */
  deleteApiKey(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/api-keys/{id}', reply: 'empty' }, input, options)
  }

  /** Replace an API key. Returns a new key. The old key stays valid for the requested overlap. The overlap of a later request takes the place of an earlier one. Needs the scope `admin`. */
  rollApiKey(input: { readonly id: string; readonly body?: RollApiKeyBody | undefined }, options: RequestOptions = {}): Promise<RollApiKeyResult> {
    return this.send({ method: 'POST', path: '/v1/api-keys/{id}/roll', reply: 'data' }, input, options)
  }

  /** Identify the API key. Returns the organization, environment and effective scopes of the key that sent the request. Needs the scope `read`. */
  whoami(options: RequestOptions = {}): Promise<Whoami> {
    return this.send({ method: 'GET', path: '/v1/whoami', reply: 'data' }, {}, options)
  }

  /** Check whether an email address can sign up. The answer does not reserve the address. */
  checkEmailAvailable(input: { readonly body: CheckEmailAvailableBody }, options: RequestOptions = {}): Promise<EmailAvailable> {
    return this.send({ method: 'POST', path: '/v1/signup/email-available', reply: 'data' }, input, options)
  }

  /** Create an account and its organization. The email address must be verified before the first sign-in. The password is set at the verification. A password sent here is kept only if the same browser verifies the address (cookie svc_signup). */
  signUp(input: { readonly body: SignUpBody }, options: RequestOptions = {}): Promise<Up> {
    return this.send({ method: 'POST', path: '/v1/signup', reply: 'data' }, input, options)
  }

  /** Verify an email address. Takes the token from the verification email and sets the password. The password may be missing only if it was sent at the sign-up from the same browser. */
  verifyEmail(input: { readonly body: VerifyEmailBody }, options: RequestOptions = {}): Promise<Email> {
    return this.send({ method: 'POST', path: '/v1/auth/verify-email', reply: 'data' }, input, options)
  }

  /** Resend the verification email. Sends nothing if the address has no account or is verified already. The response is the same in every case. */
  resendVerification(input: { readonly body: ResendVerificationBody }, options: RequestOptions = {}): Promise<Verification> {
    return this.send({ method: 'POST', path: '/v1/auth/verify-email/resend', reply: 'data' }, input, options)
  }

  /** Sign in. Sets the cookies svc_session and svc_csrf. The cookie svc_device gives this browser sign-in attempts of its own. An account with a second factor gets the code mfa_required instead: details.challengeId, details.factors (totp, passkey, recovery_code), details.passkey (options for the browser, or null) and details.expiresAt. POST /v1/auth/login/verify then starts the session. */
  logIn(input: { readonly body: LogInBody }, options: RequestOptions = {}): Promise<In> {
    return this.send({ method: 'POST', path: '/v1/auth/login', reply: 'data' }, input, options)
  }

  /** Sign out. Ends the current session. */
  logOut(options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/logout', reply: 'empty' }, {}, options)
  }

  /** Get the current session. Returns the signed-in user and the organizations that the user can act for. */
  readSession(options: RequestOptions = {}): Promise<In> {
    return this.send({ method: 'GET', path: '/v1/auth/session', reply: 'data' }, {}, options)
  }

  /** Request a password reset email. Sends an email only if the address has an account. The response is the same in every case. */
  forgotPassword(input: { readonly body: ForgotPasswordBody }, options: RequestOptions = {}): Promise<Verification> {
    return this.send({ method: 'POST', path: '/v1/auth/password/forgot', reply: 'data' }, input, options)
  }

  /** Reset the password. Takes the token from the password reset email. Ends all sessions of the user. The cookie svc_device gives this browser sign-in attempts of its own. */
  resetPassword(input: { readonly body: ResetPasswordBody }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/password/reset', reply: 'empty' }, input, options)
  }

  /** Change the password. Ends all other sessions of the user. */
  changePassword(input: { readonly body: ChangePasswordBody }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'POST', path: '/v1/auth/password/change', reply: 'empty' }, input, options)
  }

  /** Verify a second factor. Ends what an answer with the code mfa_required began: details.challengeId and one of the proofs in details.factors. At a sign-in it starts the session and sets its cookies. If a change in a session asked for the proof, the request needs the cookie of that session; repeat the change within 10 minutes. */
  verifyLogin(input: { readonly body: VerifyLoginBody }, options: RequestOptions = {}): Promise<In> {
    return this.send({ method: 'POST', path: '/v1/auth/login/verify', reply: 'data' }, input, options)
  }

  /** Get the second factors of the account. Confirmed factors, oldest first, and the number of recovery codes that were not used. */
  readFactors(options: RequestOptions = {}): Promise<Factors> {
    return this.send({ method: 'GET', path: '/v1/auth/factors', reply: 'data' }, {}, options)
  }

  /** Add a second factor. An authenticator app (totp, RFC 6238) or a passkey (WebAuthn). It counts once it is confirmed, within 10 minutes. An account that has a factor proves it first, unless the session did so in the last 10 minutes. */
  addFactor(input: { readonly body: AddFactorBody }, options: RequestOptions = {}): Promise<Factor> {
    return this.send({ method: 'POST', path: '/v1/auth/factors', reply: 'data' }, input, options)
  }

  /** Confirm a second factor. Takes the first code of the authenticator app, or the passkey that the browser made. With the first factor of the account come ten recovery codes, which are shown once, and all other sessions of the user end. */
  confirmFactor(input: { readonly id: string; readonly body: ConfirmFactorBody }, options: RequestOptions = {}): Promise<ConfirmFactorResult> {
    return this.send({ method: 'POST', path: '/v1/auth/factors/{id}/confirm', reply: 'data' }, input, options)
  }

  /** Remove a second factor. The first answer is mfa_required. Give the proof that it asks for, then repeat the request within 10 minutes. The last factor stays if the account is of staff or an organization of the user requires one. Without a factor there are no recovery codes. */
  deleteFactor(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/auth/factors/{id}', reply: 'empty' }, input, options)
  }

  /** Replace the recovery codes. Makes ten new recovery codes; the earlier ones stop working. The first answer is mfa_required. Give the proof that it asks for, then repeat the request within 10 minutes. */
  createRecoveryCodes(options: RequestOptions = {}): Promise<RecoveryCodes> {
    return this.send({ method: 'POST', path: '/v1/auth/recovery-codes', reply: 'data' }, {}, options)
  }

  /** List the security events of the account. Changes of second factors, sign-ins with them and refused proofs, newest first. */
  listSecurityEvents(input: { readonly query?: ListSecurityEventsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<SecurityEvents>> {
    return this.send({ method: 'GET', path: '/v1/auth/events', reply: 'list' }, input, options)
  }

  /** List the security events of staff. Security events of all accounts of staff, newest first. */
  listStaffSecurityEvents(input: { readonly query?: ListStaffSecurityEventsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<SecurityEvents>> {
    return this.send({ method: 'GET', path: '/v1/staff/security-events', reply: 'list' }, input, options)
  }

  /** List members. Newest first. */
  listMembers(input: { readonly query?: ListMembersQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<MemberRole>> {
    return this.send({ method: 'GET', path: '/v1/organization/members', reply: 'list' }, input, options)
  }

  /** Change the role of a member. The scopes of the API keys that the member created change with the role immediately. Open invitations that the new role may not make are revoked. */
  changeMemberRole(input: { readonly userId: string; readonly body: ChangeMemberRoleBody }, options: RequestOptions = {}): Promise<MemberRole> {
    return this.send({ method: 'PATCH', path: '/v1/organization/members/{userId}', reply: 'data' }, input, options)
  }

  /** Remove a member. API keys that the member created lose all scopes, and open invitations of the member are revoked. */
  removeMember(input: { readonly userId: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/organization/members/{userId}', reply: 'empty' }, input, options)
  }

  /** Invite a member by email. Replaces an earlier invitation to the same address. */
  inviteMember(input: { readonly body: InviteMemberBody }, options: RequestOptions = {}): Promise<Member> {
    return this.send({ method: 'POST', path: '/v1/organization/invitations', reply: 'data' }, input, options)
  }

  /** List open invitations. Invitations that were neither accepted nor revoked and have not expired, newest first. */
  listInvitations(input: { readonly query?: ListInvitationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Member>> {
    return this.send({ method: 'GET', path: '/v1/organization/invitations', reply: 'list' }, input, options)
  }

  /** Revoke an invitation. The mailed link becomes invalid. Only an owner revokes the invitation of an owner. */
  revokeInvitation(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/organization/invitations/{id}', reply: 'empty' }, input, options)
  }

  /** Accept an invitation. Takes the token from the invitation email. With a name and a password it also creates the account. */
  acceptInvitation(input: { readonly body: AcceptInvitationBody }, options: RequestOptions = {}): Promise<Invitation> {
    return this.send({ method: 'POST', path: '/v1/invitations/accept', reply: 'data' }, input, options)
  }

  /** Report leaked API keys. Revokes keys that were found in public and notifies the owners and admins by email. */
  reportLeakedKeys(input: { readonly body: ReportLeakedKeysBody }, options: RequestOptions = {}): Promise<LeakedKeys> {
    return this.send({ method: 'POST', path: '/v1/secret-scanning/reports', reply: 'data' }, input, options)
  }

  /** Create an agent. The agent starts as a draft. Needs the scope `write`. */
  createAgent(input: { readonly body: CreateAgentBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'POST', path: '/v1/agents', reply: 'data' }, input, options)
  }

  /** List agents. Newest first. Needs the scope `read`. */
  listAgents(input: { readonly query?: ListAgentsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Agent>> {
    return this.send({ method: 'GET', path: '/v1/agents', reply: 'list' }, input, options)
  }

  /** Get an agent. Includes the draft. Needs the scope `read`. */
  readAgent(input: { readonly id: string }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}', reply: 'data' }, input, options)
  }

  /** Update the draft of an agent. Objects are merged, arrays are replaced. With `ifUpdatedAt`, the `updatedAt` of the agent that was read, the request fails with `conflict` if the agent was changed since. Needs the scope `write`. */
  updateAgent(input: { readonly id: string; readonly query?: UpdateAgentQuery | undefined; readonly body: UpdateAgentBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'PATCH', path: '/v1/agents/{id}', reply: 'data' }, input, options)
  }

  /** Delete an agent. Fails while the agent is on a call. Unbinds the numbers of the agent; its versions and calls are kept. Needs the scope `write`. */
  deleteAgent(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/agents/{id}', reply: 'empty' }, input, options)
  }

  /** Publish the draft of an agent. The draft becomes the next version, which the next call uses. `warnings` says when live calls are recorded or may be monitored and the agent gives no notice of that. Needs the scope `write`. */
  publishAgent(input: { readonly id: string; readonly body?: PublishAgentBody | undefined }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'POST', path: '/v1/agents/{id}/publish', reply: 'data' }, input, options)
  }

  /** Roll back an agent to an earlier version. Publishes a copy of the earlier version and replaces the draft with it. The purpose does not change. Needs the scope `write`. */
  rollbackAgent(input: { readonly id: string; readonly body: RollbackAgentBody }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'POST', path: '/v1/agents/{id}/rollback', reply: 'data' }, input, options)
  }

  /** Set the sender classification of an agent. Changes the purpose of calls in the draft. It applies once the draft is published. */
  setAgentSenderClassification(input: { readonly id: string; readonly body: SetAgentSenderClassificationBody }, options: RequestOptions = {}): Promise<Agent> {
    return this.send({ method: 'PUT', path: '/v1/agents/{id}/sender-classification', reply: 'data' }, input, options)
  }

  /** List the versions of an agent. Newest first. The versions of a deleted agent are kept. Needs the scope `read`. */
  listAgentVersions(input: { readonly id: string; readonly query?: ListAgentVersionsQuery | undefined }, options: RequestOptions = {}): Promise<Page<PublishAgentResult>> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}/versions', reply: 'list' }, input, options)
  }

  /** Get a version of an agent. A version never changes. The versions of a deleted agent are kept. Needs the scope `read`. */
  readAgentVersion(input: { readonly id: string; readonly version: string }, options: RequestOptions = {}): Promise<PublishAgentResult> {
    return this.send({ method: 'GET', path: '/v1/agents/{id}/versions/{version}', reply: 'data' }, input, options)
  }

  /** List voices. Each voice lists the speech recognition models that can be used with it. Needs the scope `read`. */
  listVoices(options: RequestOptions = {}): Promise<Page<Voices>> {
    return this.send({ method: 'GET', path: '/v1/voices', reply: 'list' }, {}, options)
  }

  /** List language models. Lists the models of the configured vendors. Needs the scope `read`. */
  listModels(options: RequestOptions = {}): Promise<Page<Models>> {
    return this.send({ method: 'GET', path: '/v1/models', reply: 'list' }, {}, options)
  }

  /** List numbers. Numbers of the environment of the key, newest first. Those that were released are left out. Needs the scope `read`. */
  listNumbers(input: { readonly query?: ListNumbersQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Number>> {
    return this.send({ method: 'GET', path: '/v1/numbers', reply: 'list' }, input, options)
  }

  /** Get a number. Includes the agent or media endpoint that answers the number. Needs the scope `read`. */
  readNumber(input: { readonly id: string }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'GET', path: '/v1/numbers/{id}', reply: 'data' }, input, options)
  }

  /** Update a number. Sets the label, the agent, the media endpoint, the fallback of a lost bot, the routing mode and call recording. Needs the scope `write`. */
  updateNumber(input: { readonly id: string; readonly body: UpdateNumberBody }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'PATCH', path: '/v1/numbers/{id}', reply: 'data' }, input, options)
  }

  /** List carriers that sell numbers. Carriers of the environment of the key. A test key sees the sandbox only. Needs the scope `read`. */
  listNumberCarriers(options: RequestOptions = {}): Promise<Page<NumberCarriers>> {
    return this.send({ method: 'GET', path: '/v1/numbers/carriers', reply: 'list' }, {}, options)
  }

  /** List regions with numbers. Telecom circles in which carriers sell numbers. Needs the scope `read`. */
  listNumberRegions(input: { readonly query?: ListNumberRegionsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<NumberRegions>> {
    return this.send({ method: 'GET', path: '/v1/numbers/regions', reply: 'list' }, input, options)
  }

  /** List numbers for sale. Offers of all carriers, cheapest first. A carrier that fails is named in `meta.warnings`; if no carrier lists a number, its failure is returned. Another customer can buy an offer at any time. Needs the scope `read`. */
  searchAvailableNumbers(input: { readonly query?: SearchAvailableNumbersQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<AvailableNumbers, {
    readonly provider: string
    readonly code: string
  }>> {
    return this.send({ method: 'GET', path: '/v1/numbers/available', reply: 'list', warnings: true }, input, options)
  }

  /** Buy a number. Costs the set-up fee and the first month. With `confirmedTotalPaise` nothing is bought at another price. If the carrier does not answer, the price stays held and the response is 503: retry with the same key, which never buys twice. Needs the scope `admin`. */
  purchaseNumber(input: { readonly body: PurchaseNumberBody }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'POST', path: '/v1/numbers/purchase', reply: 'data', idempotent: true }, input, options)
  }

  /** Set inbound calling of a number. Off refuses inbound calls only. On also repairs the routing at the carrier; if that fails, `inbound` is `error` and `inboundReason` says why. Needs the scope `write`. */
  setNumberInbound(input: { readonly id: string; readonly body: SetNumberInboundBody }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'POST', path: '/v1/numbers/{id}/inbound', reply: 'data' }, input, options)
  }

  /** Release a number. The number takes and places no more calls, and goes back to its carrier. A rental that was paid is not refunded. Calls in progress continue. Needs the scope `admin`. */
  releaseNumber(input: { readonly id: string }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'POST', path: '/v1/numbers/{id}/release', reply: 'data' }, input, options)
  }

  /** Route a number to your telephone system. Sets `routingMode` to `byo_sip`: calls to the number are dialled at `sipUri`, or where your telephone system is registered, and bridged without an agent. Your telephone system places calls from the number at `connection` with `credentials`. The password is shown only in this response: send an `Idempotency-Key`, so that a retry returns the same one. A number that has an address gets the new one and new credentials. Needs the scope `admin`. */
  setNumberSip(input: { readonly id: string; readonly body: SetNumberSipBody }, options: RequestOptions = {}): Promise<NumberSip> {
    return this.send({ method: 'POST', path: '/v1/numbers/{id}/sip', reply: 'data', idempotent: true }, input, options)
  }

  /** Give a number back to its agent. Sets `routingMode` to `svc_agent` and ends the credentials of the telephone system. The number is kept. Calls in progress continue. Needs the scope `admin`. */
  removeNumberSip(input: { readonly id: string }, options: RequestOptions = {}): Promise<Number> {
    return this.send({ method: 'DELETE', path: '/v1/numbers/{id}/sip', reply: 'data' }, input, options)
  }

  /** Get the right to create SIP trunks. A trunk can be created when both `enabled` and `organizationVerified` are true. Needs the scope `read`. */
  readSipTrunkEntitlement(options: RequestOptions = {}): Promise<SipTrunkEntitlement> {
    return this.send({ method: 'GET', path: '/v1/sip-trunks/entitlement', reply: 'data' }, {}, options)
  }

  /** Request the right to create SIP trunks. Staff of the service decide. At most one request waits at a time. Needs the scope `admin`. */
  requestSipTrunkAccess(input: { readonly body: RequestSipTrunkAccessBody }, options: RequestOptions = {}): Promise<SipTrunkEntitlement> {
    return this.send({ method: 'POST', path: '/v1/sip-trunks/access-request', reply: 'data' }, input, options)
  }

  /** List SIP trunks. Trunks of the environment of the key, newest first. Passwords are never included. Needs the scope `read`. */
  listSipTrunks(input: { readonly query?: ListSipTrunksQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ReadSipTrunkResult>> {
    return this.send({ method: 'GET', path: '/v1/sip-trunks', reply: 'list' }, input, options)
  }

  /** Create a SIP trunk. The trunk can be configured and tested at once; it carries calls after staff of the service approved it. The password is shown only in this response: send an `Idempotency-Key`, so that a retry returns the same trunk and password. Needs the scope `admin`. */
  createSipTrunk(input: { readonly body: CreateSipTrunkBody }, options: RequestOptions = {}): Promise<SipTrunk> {
    return this.send({ method: 'POST', path: '/v1/sip-trunks', reply: 'data', idempotent: true }, input, options)
  }

  /** Get a SIP trunk. The password is never included. Needs the scope `read`. */
  readSipTrunk(input: { readonly id: string }, options: RequestOptions = {}): Promise<ReadSipTrunkResult> {
    return this.send({ method: 'GET', path: '/v1/sip-trunks/{id}', reply: 'data' }, input, options)
  }

  /** Update a SIP trunk. Changes count from the next call on. A new transport without a port gets its usual port. Needs the scope `admin`. */
  updateSipTrunk(input: { readonly id: string; readonly body: UpdateSipTrunkBody }, options: RequestOptions = {}): Promise<ReadSipTrunkResult> {
    return this.send({ method: 'PATCH', path: '/v1/sip-trunks/{id}', reply: 'data' }, input, options)
  }

  /** Delete a SIP trunk. A trunk with numbers cannot be deleted. Calls in progress continue. Needs the scope `admin`. */
  deleteSipTrunk(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/sip-trunks/{id}', reply: 'empty' }, input, options)
  }

  /** Replace the password of a SIP trunk. The old password stops with the next call; calls in progress continue. The new one is shown only in this response. Needs the scope `admin`. */
  rotateSipTrunkCredentials(input: { readonly id: string }, options: RequestOptions = {}): Promise<SipTrunk> {
    return this.send({ method: 'POST', path: '/v1/sip-trunks/{id}/credentials/rotate', reply: 'data' }, input, options)
  }

  /** Test a SIP trunk. The method `options` asks whether outboundHost, or else the registered telephone system, answers, `register` whether it accepts outboundAuthUsername. The result is `lastProbe`. A trunk of the test environment asks the simulated carrier. Needs the scope `admin`. */
  testSipTrunk(input: { readonly id: string; readonly body: TestSipTrunkBody }, options: RequestOptions = {}): Promise<ReadSipTrunkResult> {
    return this.send({ method: 'POST', path: '/v1/sip-trunks/{id}/test', reply: 'data' }, input, options)
  }

  /** List the numbers of a SIP trunk. Released numbers are not included. Needs the scope `read`. */
  listSipTrunkNumbers(input: { readonly id: string; readonly query?: ListSipTrunkNumbersQuery | undefined }, options: RequestOptions = {}): Promise<Page<Number>> {
    return this.send({ method: 'GET', path: '/v1/sip-trunks/{id}/numbers', reply: 'list' }, input, options)
  }

  /** Add numbers to a SIP trunk. Adds numbers that your carrier routes to the trunk. They cost no rental. A number that cannot be added is listed in `rejected`; the others are added. Needs the scope `admin`. */
  importSipTrunkNumbers(input: { readonly id: string; readonly body: ImportSipTrunkNumbersBody }, options: RequestOptions = {}): Promise<SipTrunkNumbers> {
    return this.send({ method: 'POST', path: '/v1/sip-trunks/{id}/numbers', reply: 'data' }, input, options)
  }

  /** Remove a number from a SIP trunk. The number takes and places no more calls. Calls in progress continue. Needs the scope `admin`. */
  removeSipTrunkNumber(input: { readonly id: string; readonly numberId: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/sip-trunks/{id}/numbers/{numberId}', reply: 'empty' }, input, options)
  }

  /** Place an outbound call. The compliance checks run before the call is dialled. Needs the scope `write`. */
  placeCall(input: { readonly body: PlaceCallBody }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'POST', path: '/v1/calls', reply: 'data', idempotent: true }, input, options)
  }

  /** List calls. Newest first. Needs the scope `read`. */
  listCalls(input: { readonly query?: ListCallsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Call>> {
    return this.send({ method: 'GET', path: '/v1/calls', reply: 'list' }, input, options)
  }

  /** Download calls as CSV. Newest first, with the filters of the list. More than 100,000 calls are refused with 422: narrow the filters. Objects are cells with JSON. Needs the scope `read`. */
  exportCalls(input: { readonly query?: ExportCallsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/calls/export.csv', reply: 'file' }, input, options)
  }

  /** Get a call. Available during the call, too. Outputs and the evaluation follow after the end of the call. Needs the scope `read`. */
  readCall(input: { readonly id: string }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}', reply: 'data' }, input, options)
  }

  /** Get the download URL of a recording. The left channel is the caller, the right channel is the agent. Needs the scope `read`. */
  readRecording(input: { readonly id: string }, options: RequestOptions = {}): Promise<Recording> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/recording', reply: 'data' }, input, options)
  }

  /** Get the transcript of a call. Available during the call, too. Returns 404 as long as `hasTranscript` of the call is false. Needs the scope `read`. */
  readTranscript(input: { readonly id: string }, options: RequestOptions = {}): Promise<Transcript> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/transcript', reply: 'data' }, input, options)
  }

  /** Get the course of a call on one axis of time. Waveform, turns, keys, tools, legs, SIP steps, and the latency of each reply with its stages. Available during the call, too; the waveform follows with the recording. The SIP messages themselves are shown by `parley trace`. Needs the scope `read`. */
  readCallTimeline(input: { readonly id: string }, options: RequestOptions = {}): Promise<CallTimeline> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/timeline', reply: 'data' }, input, options)
  }

  /** Say a text on a running call. All parties of the call hear it, in the voice of the agent; beside a media bot an embedded voice says it. The agent first ends its clause; with interrupt it stops at once. The answer comes with the end of the text, or after 10 seconds with in_progress. A further text cuts an earlier one. Needs the scope `write`. */
  sayOnCall(input: { readonly id: string; readonly body: SayOnCallBody }, options: RequestOptions = {}): Promise<OnCall> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/say', reply: 'data', idempotent: true }, input, options)
  }

  /** Give a note to the agent of a running call. The model reads it before its next reply. It is not heard on the call; the transcript holds it. A call without an agent of the service is answered with 409. Needs the scope `write`. */
  noteOnCall(input: { readonly id: string; readonly body: NoteOnCallBody }, options: RequestOptions = {}): Promise<NoteOnCallResult> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/note', reply: 'data', idempotent: true }, input, options)
  }

  /** Request a ticket for a call from the browser. To talk to an agent from a page of the dashboard (`talk`), to hear a running call (`listen`, with an offer that only receives), or to take it over from its agent (`takeover`). The page opens SIP over WebSocket (RFC 7118) at `webSocketUrl` in the same session, and sends an INVITE from `from` to `to` with the header `Authorization: Bearer <ticket>` and an offer of DTLS-SRTP with ICE. A ticket is good for one call within a minute. A refusal names its reason in the header `X-Svc-Code`; with `other_process` the ticket stays good: connect again. To talk makes a call with the id `callId`, which counts and costs as an inbound call to the number. To listen or take over makes a leg of the call `callId`, with the entry `monitorId` in its monitors. The organization must allow that (`monitoring`), the time with a person costs as after a transfer, and a hang-up or `POST /v1/calls/{id}/release` gives the caller back. */
  requestBrowserCall(input: { readonly body: RequestBrowserCallBody }, options: RequestOptions = {}): Promise<BrowserCall> {
    return this.send({ method: 'POST', path: '/v1/browser-calls', reply: 'data' }, input, options)
  }

  /** List who listened to a call or took it over. Newest first. Each is an event of the call and has entries in the audit log, too. Needs the scope `read`. */
  listCallMonitors(input: { readonly id: string; readonly query?: ListCallMonitorsQuery | undefined }, options: RequestOptions = {}): Promise<Page<CallMonitors>> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/monitors', reply: 'list' }, input, options)
  }

  /** Request a ticket to listen to a running call. For owners and admins, and for developers if the organization allows it (`monitoring`). Open a WebSocket at `url` with the subprotocols `parley.listen` and `ticket.<ticket>`, from a page of the dashboard, within 30 seconds. The first message is JSON with `sampleRate`; binary messages are 16-bit little-endian PCM with two channels: the caller, and what the caller hears. A slow connection loses audio; the message `dropped` says how much. A ticket is good for one listening; two people can listen at the same time. Code 4421 means that another process carries the call: connect again with the same ticket. */
  requestListenTicket(input: { readonly id: string }, options: RequestOptions = {}): Promise<ListenTicket> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/monitors', reply: 'data' }, input, options)
  }

  /** Hang up a call. Does nothing if the call has ended. Needs the scope `write`. */
  hangUpCall(input: { readonly id: string; readonly body?: HangUpCallBody | undefined }, options: RequestOptions = {}): Promise<Call> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/hangup', reply: 'data' }, input, options)
  }

  /** Watch changes as they happen. Tells what changed in the environment, so that a page reads it again. Several changes of one thing may become one event. The first event is `hello`: `resumed` is false when earlier changes may be missing, and everything must be read again. A stream can be continued for 15 minutes. Changes of a transcript are sent for the call `callId` only. At most 6 streams are open for a user and 50 for an organization in one process. */
  watchLive(input: { readonly query?: WatchLiveQuery | undefined } = {}, options: RequestOptions = {}): Promise<EventStream<{ readonly event: "hello"; readonly data: {
    readonly resumed: boolean
  } } | { readonly event: "changed"; readonly data: {
    readonly kind: Open<"call" | "transcript" | "campaign" | "check" | "wallet" | "number" | "knowledge_base">
    readonly id: string
  } } | { readonly event: "end"; readonly data: {
    readonly reason: Open<"slow" | "credential" | "restart" | "over">
  } }>> {
    return this.send({ method: 'GET', path: '/v1/live', reply: 'events' }, input, options)
  }

  /** Download a recording. Takes the signed URL that "Get the download URL of a recording" returns. Answers 503 for a moment when the process that carried the call has not stored the recording yet. */
  downloadMedia(input: { readonly token: string }, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/media/{token}', reply: 'file' }, input, options)
  }

  /** Receive a callback of a carrier. The carrier signs its callbacks as it documents. A callback only says that something happened to a call: the service then asks the carrier for its record. */
  receiveCarrierCallback(input: { readonly provider: string; readonly query?: ReceiveCarrierCallbackQuery | undefined; readonly body: ReceiveCarrierCallbackBody }, options: RequestOptions = {}): Promise<CarrierCallback> {
    return this.send({ method: 'POST', path: '/v1/carrier-callbacks/{provider}', reply: 'data' }, input, options)
  }

  /** Create a campaign. The campaign starts as a draft without recipients. Needs the scope `write`. */
  createCampaign(input: { readonly body: CreateCampaignBody }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns', reply: 'data' }, input, options)
  }

  /** List campaigns. Newest first. Archived campaigns are left out unless `archived` is true. Needs the scope `read`. */
  listCampaigns(input: { readonly query?: ListCampaignsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Campaign>> {
    return this.send({ method: 'GET', path: '/v1/campaigns', reply: 'list' }, input, options)
  }

  /** Get a campaign. Archived campaigns are returned, too. Needs the scope `read`. */
  readCampaign(input: { readonly id: string }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'GET', path: '/v1/campaigns/{id}', reply: 'data' }, input, options)
  }

  /** Update a campaign. A draft can be changed freely. While a campaign is scheduled or paused, its pacing, autoPauseBelowPaise and schedule.endsAt can be changed. Needs the scope `write`. */
  updateCampaign(input: { readonly id: string; readonly body: UpdateCampaignBody }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'PATCH', path: '/v1/campaigns/{id}', reply: 'data' }, input, options)
  }

  /** Delete a draft. Deletes the recipients of the draft, too. Other campaigns can be archived. Needs the scope `write`. */
  deleteCampaign(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/campaigns/{id}', reply: 'empty' }, input, options)
  }

  /** Add recipients. Adds the valid recipients and returns the others with their reasons. A number that the campaign has already is rejected. A campaign has at most 100,000 recipients. Needs the scope `write`. */
  addRecipients(input: { readonly id: string; readonly body: AddRecipientsBody }, options: RequestOptions = {}): Promise<Recipients> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/recipients', reply: 'data', idempotent: true }, input, options)
  }

  /** List recipients. In the order of upload. Needs the scope `read`. */
  listRecipients(input: { readonly id: string; readonly query?: ListRecipientsQuery | undefined }, options: RequestOptions = {}): Promise<Page<Recipient>> {
    return this.send({ method: 'GET', path: '/v1/campaigns/{id}/recipients', reply: 'list' }, input, options)
  }

  /** Import recipients from CSV. The first row names the columns: `e164` or `phone`, optionally `externalId`; every other column is a variable. The delimiter is a comma, a semicolon, a tab or a vertical bar; a first line `sep=;` states it. An empty cell is no value. Valid rows are imported together, and the others are returned with line and reason: also a row with more cells than the first one. A body that cannot be read to its end imports nothing. At most 51 columns and 100,000 rows. Needs the scope `write`. */
  importRecipients(input: { readonly id: string; readonly body: UploadBody; readonly contentType: "text/csv" }, options: RequestOptions = {}): Promise<Recipients> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/recipients/import', reply: 'data', idempotent: true, upload: true }, input, options)
  }

  /** Get a recipient. A recipient with its attempts, its outcome and the outputs of its last call. Needs the scope `read`. */
  readRecipient(input: { readonly id: string; readonly recipientId: string }, options: RequestOptions = {}): Promise<Recipient> {
    return this.send({ method: 'GET', path: '/v1/campaigns/{id}/recipients/{recipientId}', reply: 'data' }, input, options)
  }

  /** Remove a recipient. Only recipients of a draft or a paused campaign that were not dialled can be removed. Needs the scope `write`. */
  deleteRecipient(input: { readonly id: string; readonly recipientId: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/campaigns/{id}/recipients/{recipientId}', reply: 'empty' }, input, options)
  }

  /** Check a campaign before its launch. Examines the agent, the number, the hours, the legal requirements and every recipient, and estimates cost and end. The result is kept in `preflight` and computed again at launch. No look-up that costs money is bought. Needs the scope `write`. */
  preflightCampaign(input: { readonly id: string; readonly body?: PreflightCampaignBody | undefined }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/preflight', reply: 'data' }, input, options)
  }

  /** Launch a campaign. Runs the pre-flight again. The campaign runs, or is scheduled if startsAt is in the future. Every call uses the version of the agent that is published now. Needs the scope `write`. */
  launchCampaign(input: { readonly id: string; readonly body: LaunchCampaignBody }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/launch', reply: 'data', idempotent: true }, input, options)
  }

  /** Pause a campaign. Calls that are under way go on. A campaign that was paused for `carrier_errors` or `service_errors` does not resume by itself any more. Needs the scope `write`. */
  pauseCampaign(input: { readonly id: string; readonly body?: PauseCampaignBody | undefined }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/pause', reply: 'data' }, input, options)
  }

  /** Resume a paused campaign. Continues with the version of the agent that was launched. Does nothing if the campaign runs or is scheduled. Needs the scope `write`. */
  resumeCampaign(input: { readonly id: string; readonly body?: ResumeCampaignBody | undefined }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/resume', reply: 'data' }, input, options)
  }

  /** Stop a campaign for good. Recipients that wait are abandoned, and calls that are under way go on. Does nothing if the campaign is stopped. Needs the scope `write`. */
  stopCampaign(input: { readonly id: string; readonly body?: StopCampaignBody | undefined }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/stop', reply: 'data' }, input, options)
  }

  /** Archive a campaign. Hides a draft or an ended campaign from the list. Does nothing if it is archived already. Needs the scope `write`. */
  archiveCampaign(input: { readonly id: string }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/archive', reply: 'data' }, input, options)
  }

  /** Show an archived campaign in the list again. Changes nothing else. Does nothing if the campaign is not archived. Needs the scope `write`. */
  unarchiveCampaign(input: { readonly id: string }, options: RequestOptions = {}): Promise<Campaign> {
    return this.send({ method: 'POST', path: '/v1/campaigns/{id}/unarchive', reply: 'data' }, input, options)
  }

  /** Get the outcomes of a campaign. Counted from the recipients and the results of their calls at the time of the request. Needs the scope `read`. */
  readCampaignOutcomes(input: { readonly id: string }, options: RequestOptions = {}): Promise<CampaignOutcomes> {
    return this.send({ method: 'GET', path: '/v1/campaigns/{id}/outcomes', reply: 'data' }, input, options)
  }

  /** Download the recipients with their outcomes as CSV. In the order of upload. Objects are cells with JSON. Needs the scope `read`. */
  exportCampaignOutcomes(input: { readonly id: string }, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/campaigns/{id}/outcomes/export.csv', reply: 'file' }, input, options)
  }

  /** List the compliance checks of a campaign. Newest first: the checks of every dial, and those that refused recipients in the pre-flight. Needs the scope `read`. */
  listCampaignChecks(input: { readonly id: string; readonly query?: ListCampaignChecksQuery | undefined }, options: RequestOptions = {}): Promise<Page<ComplianceCheck>> {
    return this.send({ method: 'GET', path: '/v1/campaigns/{id}/compliance', reply: 'list' }, input, options)
  }

  /** List scheduled callbacks. Newest first. `dueAfter` is inclusive, `dueBefore` exclusive. Needs the scope `read`. */
  listCallbacks(input: { readonly query?: ListCallbacksQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Callback>> {
    return this.send({ method: 'GET', path: '/v1/callbacks', reply: 'list' }, input, options)
  }

  /** Get a scheduled callback. Includes its state and, once dialled, the call. Needs the scope `read`. */
  readCallback(input: { readonly id: string }, options: RequestOptions = {}): Promise<Callback> {
    return this.send({ method: 'GET', path: '/v1/callbacks/{id}', reply: 'data' }, input, options)
  }

  /** Cancel a scheduled callback. Does nothing if the callback is canceled already. Needs the scope `write`. */
  cancelCallback(input: { readonly id: string; readonly body?: CancelCallbackBody | undefined }, options: RequestOptions = {}): Promise<Callback> {
    return this.send({ method: 'POST', path: '/v1/callbacks/{id}/cancel', reply: 'data' }, input, options)
  }

  /** Check whether a number may be called. Runs the checks of a call at `at` (default: now) and places none. The purpose is that of the agent, else that of the organization. Without `numberId` the checks of the caller ID are not made. A refusal is a verdict with status 200; 402 means that the wallet is on hold or does not cover the fee of the DND register. For another day only a scrub that is valid then answers for the DND register. `undecided` lists the checks that could not be made: `allowed` does not speak for them. Needs the scope `write`. */
  checkCompliance(input: { readonly body: CheckComplianceBody }, options: RequestOptions = {}): Promise<Compliance> {
    return this.send({ method: 'POST', path: '/v1/compliance/check', reply: 'data' }, input, options)
  }

  /** List compliance checks. Checks that ran before calls and on request, newest first. Needs the scope `read`. */
  listComplianceChecks(input: { readonly query?: ListComplianceChecksQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ComplianceCheck>> {
    return this.send({ method: 'GET', path: '/v1/compliance/checks', reply: 'list' }, input, options)
  }

  /** Get a compliance check. A check that ran before a call was dialled, with its outcome. The event `compliance.check.blocked` links to the check that refused the call. Needs the scope `read`. */
  readComplianceCheck(input: { readonly id: string }, options: RequestOptions = {}): Promise<ComplianceCheck> {
    return this.send({ method: 'GET', path: '/v1/compliance/checks/{id}', reply: 'data' }, input, options)
  }

  /** Get the sealed records of a call. The decision of the compliance gate, sealed before the call was dialled, and the outcome, sealed within seconds after its end. An inbound call has no gate record. `verification` covers these records; "Download the evidence chain" proves the whole chain. Needs the scope `read`. */
  readCallEvidence(input: { readonly id: string }, options: RequestOptions = {}): Promise<CallEvidence> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/evidence', reply: 'data' }, input, options)
  }

  /** Download the evidence of a call as a page. One page of PDF for a reader who does not know the service, drawn only from the sealed records. Needs the scope `read`. */
  downloadCallEvidence(input: { readonly id: string }, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/evidence.pdf', reply: 'file' }, input, options)
  }

  /** Get the record of a number. Everything about one number: the newest 500 checks, the newest 200 sealed records, and the whole history of its consents and do-not-call entries. Needs the scope `read`. */
  readPersonEvidence(input: { readonly query: ReadPersonEvidenceQuery }, options: RequestOptions = {}): Promise<PersonEvidence> {
    return this.send({ method: 'GET', path: '/v1/compliance/evidence', reply: 'data' }, input, options)
  }

  /** Get the head of the evidence chain. The last sealed record of the environment. Keep it: with it the verifier finds a chain that was cut off or rewritten later. Needs the scope `read`. */
  readEvidenceHead(options: RequestOptions = {}): Promise<EvidenceHead> {
    return this.send({ method: 'GET', path: '/v1/compliance/evidence/head', reply: 'data' }, {}, options)
  }

  /** Download the evidence chain. All sealed records of the environment as a bundle for the offline verifier, one JSON object per line (`parley evidence verify`, docs/evidence.md). Needs the scope `read`. */
  exportEvidence(options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/compliance/evidence/export', reply: 'file' }, {}, options)
  }

  /** List consents. The newest consent of each number and purpose, newest first. Needs the scope `read`. */
  listConsents(input: { readonly query?: ListConsentsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Consent>> {
    return this.send({ method: 'GET', path: '/v1/consent', reply: 'list' }, input, options)
  }

  /** Record a consent. Replaces the consent of the number for that purpose. An inferred consent needs `expiresAt`. An explicit transactional one, and one of source `enquiry`, last at most 7 days. Consent is refused for 90 days after an opt-out. Needs the scope `write`. */
  createConsent(input: { readonly body: CreateConsentBody }, options: RequestOptions = {}): Promise<Consent> {
    return this.send({ method: 'POST', path: '/v1/consent', reply: 'data', idempotent: true }, input, options)
  }

  /** Record up to 1,000 consents. Each row counts on its own: a row that is refused is listed in `rejected`. Set `capturedAt` of each row; its default is the time of the import. Needs the scope `write`. */
  importConsents(input: { readonly body: ImportConsentsBody }, options: RequestOptions = {}): Promise<Consents> {
    return this.send({ method: 'POST', path: '/v1/consent/bulk', reply: 'data', idempotent: true }, input, options)
  }

  /** Get a consent. A consent that a newer one has replaced is part of the evidence of its number only. Needs the scope `read`. */
  readConsent(input: { readonly id: string }, options: RequestOptions = {}): Promise<Consent> {
    return this.send({ method: 'GET', path: '/v1/consent/{id}', reply: 'data' }, input, options)
  }

  /** Revoke a consent. With `optOut` the number is also put on the do-not-call list for 90 days, and its other consents are revoked. Revoking twice changes nothing. Needs the scope `write`. */
  revokeConsent(input: { readonly id: string; readonly body: RevokeConsentBody }, options: RequestOptions = {}): Promise<Consent> {
    return this.send({ method: 'POST', path: '/v1/consent/{id}/revoke', reply: 'data' }, input, options)
  }

  /** List do-not-call entries. Entries of the environment of the key, newest first. Entries of both environments block calls in both. Needs the scope `read`. */
  listDncEntries(input: { readonly query?: ListDncEntriesQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<DncEntry>> {
    return this.send({ method: 'GET', path: '/v1/dnc', reply: 'list' }, input, options)
  }

  /** Add a number to the do-not-call list. No call reaches the number from now on, in either environment. Source `opt_out` lasts 90 days, locks consent for that time and revokes the consents of the number. An entry of the same source that is there already is answered with 200. Needs the scope `write`. */
  createDncEntry(input: { readonly body: CreateDncEntryBody }, options: RequestOptions = {}): Promise<DncEntry> {
    return this.send({ method: 'POST', path: '/v1/dnc', reply: 'data', idempotent: true }, input, options)
  }

  /** Add up to 1,000 numbers to the do-not-call list. Each row counts on its own: a row that is refused is listed in `rejected`. The default source is `import`. Needs the scope `write`. */
  importDncEntries(input: { readonly body: ImportDncEntriesBody }, options: RequestOptions = {}): Promise<Consents> {
    return this.send({ method: 'POST', path: '/v1/dnc/bulk', reply: 'data', idempotent: true }, input, options)
  }

  /** Get a do-not-call entry. A removed entry can still be read. Needs the scope `read`. */
  readDncEntry(input: { readonly id: string }, options: RequestOptions = {}): Promise<DncEntry> {
    return this.send({ method: 'GET', path: '/v1/dnc/{id}', reply: 'data' }, input, options)
  }

  /** Remove a do-not-call entry. An opt-out cannot be removed before `lockedUntil`. In the test environment it can, so that a test can be repeated. Needs the scope `admin`. */
  deleteDncEntry(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/dnc/{id}', reply: 'empty' }, input, options)
  }

  /** Delete what is stored about a person. Removes what the environment stores about a number, in the background. Calls, charges, checks and sealed records stay without the number. A number whose erasure has not ended keeps that erasure. A live call, a payment dispute, a wallet on hold and legal retention delay it. Needs the scope `admin`. */
  startErasure(input: { readonly body: StartErasureBody }, options: RequestOptions = {}): Promise<Erasure> {
    return this.send({ method: 'POST', path: '/v1/compliance/erasures', reply: 'data', idempotent: true }, input, options)
  }

  /** Get an erasure. Shows how far the erasure of a person has come, and why it waits. Needs the scope `read`. */
  readErasure(input: { readonly id: string }, options: RequestOptions = {}): Promise<Erasure> {
    return this.send({ method: 'GET', path: '/v1/compliance/erasures/{id}', reply: 'data' }, input, options)
  }

  /** List events. Events of the last 30 days, newest first. One item per event and webhook endpoint. Needs the scope `read`. */
  listEvents(input: { readonly query?: ListEventsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Events>> {
    return this.send({ method: 'GET', path: '/v1/events', reply: 'list' }, input, options)
  }

  /** Get an event. The payload shows the current state of the subject. Needs the scope `read`. */
  readEvent(input: { readonly id: string }, options: RequestOptions = {}): Promise<Event> {
    return this.send({ method: 'GET', path: '/v1/events/{id}', reply: 'data' }, input, options)
  }

  /** Request the transfer of a call to a person. As if the agent decided it: the destination is verified, inside its hours and one of the agent. A call makes at most two attempts. A transfer that cannot start is answered with accepted false and a refusal. Without destinationId the default of the agent is called. Needs the scope `write`. */
  transferCall(input: { readonly id: string; readonly body: TransferCallBody }, options: RequestOptions = {}): Promise<TransferCallResult> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/transfer', reply: 'data', idempotent: true }, input, options)
  }

  /** List the transfer attempts of a call. In the order of the attempts; at most two. Needs the scope `read`. */
  listCallTransfers(input: { readonly id: string }, options: RequestOptions = {}): Promise<Page<CallTransfers>> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/transfers', reply: 'list' }, input, options)
  }

  /** Get the download URL of the recording of a person. The left channel is the caller, the right channel is the person. Needs the scope `read`. */
  readTransferRecording(input: { readonly id: string; readonly transferId: string }, options: RequestOptions = {}): Promise<Recording> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/transfers/{transferId}/recording', reply: 'data' }, input, options)
  }

  /** Get the download URL of the recording after an attempt. What the agent and the caller said after an attempt that failed. Needs the scope `read`. */
  readReturnRecording(input: { readonly id: string; readonly transferId: string }, options: RequestOptions = {}): Promise<Recording> {
    return this.send({ method: 'GET', path: '/v1/calls/{id}/transfers/{transferId}/return-recording', reply: 'data' }, input, options)
  }

  /** Start the takeover of a running call from its agent. Calls a verified transfer destination. Who answers takes the call with the key 1; until then the agent talks on. Then the caller hears the line before a transfer, and the agent leaves. The person may give the caller back, and a person who hangs up gives the caller back, too. For owners and admins, and for developers if the organization allows it (`monitoring`). The time costs as with a person. `GET /v1/calls/{id}/monitors` shows the steps. */
  startTakeover(input: { readonly id: string; readonly body: StartTakeoverBody }, options: RequestOptions = {}): Promise<Takeover> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/takeover', reply: 'data' }, input, options)
  }

  /** Release a call that was taken over to its agent. The agent is told how long the person had the caller, the last words of both as far as they were understood, and the message. Also ends a takeover whose person has not answered yet. Who took the call over may always release it; the takeover of another member is released by owners and admins only. */
  releaseTakeover(input: { readonly id: string; readonly body: ReleaseTakeoverBody }, options: RequestOptions = {}): Promise<ReleaseTakeoverResult> {
    return this.send({ method: 'POST', path: '/v1/calls/{id}/release', reply: 'data' }, input, options)
  }

  /** Get the page for the person of a transfer. What was said on the call so far, for 24 hours from the request. The address is in the events of the transfer. A browser gets a page that follows the call while it lasts; programs get JSON. */
  readHandoff(input: { readonly token: string; readonly query?: ReadHandoffQuery | undefined }, options: RequestOptions = {}): Promise<Handoff> {
    return this.send({ method: 'GET', path: '/v1/handoff/{token}', reply: 'data' }, input, options)
  }

  /** Get what is said on a transferred call as events. What is said on the call after `after` or `Last-Event-ID`, and the brief once it was spoken, until the call is over. The page of the same address uses it. At most 8 streams of a transfer are open in one process. */
  watchHandoff(input: { readonly token: string; readonly query?: WatchHandoffQuery | undefined }, options: RequestOptions = {}): Promise<EventStream<{ readonly event: "line"; readonly data: {
    readonly role: Open<"agent" | "caller" | "human_agent">
    readonly text: string
    readonly startMs: number
  } } | { readonly event: "brief"; readonly data: {
    readonly brief: string
  } } | { readonly event: "end"; readonly data: {
    readonly reason: Open<"slow" | "credential" | "restart" | "over">
  } }>> {
    return this.send({ method: 'GET', path: '/v1/handoff/{token}/events', reply: 'events' }, input, options)
  }

  /** Create a transfer destination. Both environments share the destination. It receives transfers in an environment after it was verified there. Needs the scope `admin`. */
  createTransferDestination(input: { readonly body: CreateTransferDestinationBody }, options: RequestOptions = {}): Promise<TransferDestination> {
    return this.send({ method: 'POST', path: '/v1/transfer-destinations', reply: 'data' }, input, options)
  }

  /** List transfer destinations. Telephones of persons to whom calls can be transferred, newest first. Needs the scope `read`. */
  listTransferDestinations(input: { readonly query?: ListTransferDestinationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<TransferDestination>> {
    return this.send({ method: 'GET', path: '/v1/transfer-destinations', reply: 'list' }, input, options)
  }

  /** Get a transfer destination. Status and verification are those of the environment of the key. Needs the scope `read`. */
  readTransferDestination(input: { readonly id: string }, options: RequestOptions = {}): Promise<TransferDestination> {
    return this.send({ method: 'GET', path: '/v1/transfer-destinations/{id}', reply: 'data' }, input, options)
  }

  /** Update a transfer destination. A new number has to be verified again, in both environments. The key never changes. Needs the scope `admin`. */
  updateTransferDestination(input: { readonly id: string; readonly body: UpdateTransferDestinationBody }, options: RequestOptions = {}): Promise<TransferDestination> {
    return this.send({ method: 'PATCH', path: '/v1/transfer-destinations/{id}', reply: 'data' }, input, options)
  }

  /** Delete a transfer destination. Fails while an agent uses the destination. Needs the scope `admin`. */
  deleteTransferDestination(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/transfer-destinations/{id}', reply: 'empty' }, input, options)
  }

  /** Verify a transfer destination by a call with a code. A call says a code of six digits twice, in the language of the destination. The code is valid for 10 minutes; a new call replaces it. The code of the test environment is 000000. Verification calls cost nothing. In 24 hours, an organization has 5 of them for a destination and for a number, and 50 in all; all organizations together have 20 for a number. In the live environment they keep the calling hours of promotional calls. Needs the scope `admin`. */
  verifyTransferDestination(input: { readonly id: string; readonly body?: VerifyTransferDestinationBody | undefined }, options: RequestOptions = {}): Promise<TransferDestination> {
    return this.send({ method: 'POST', path: '/v1/transfer-destinations/{id}/verify', reply: 'data' }, input, options)
  }

  /** Check the code of a transfer destination. Verifies the destination in the environment of the key. After five wrong codes a new verification call is needed. Needs the scope `admin`. */
  confirmTransferDestination(input: { readonly id: string; readonly body: ConfirmTransferDestinationBody }, options: RequestOptions = {}): Promise<TransferDestination> {
    return this.send({ method: 'POST', path: '/v1/transfer-destinations/{id}/confirm', reply: 'data' }, input, options)
  }

  /** Create a webhook endpoint. The endpoint receives test and live events. The response includes the signing secret. Needs the scope `admin`. */
  createWebhook(input: { readonly body: CreateWebhookBody }, options: RequestOptions = {}): Promise<Webhook> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks', reply: 'data' }, input, options)
  }

  /** List webhook endpoints. Newest first. Needs the scope `read`. */
  listWebhooks(input: { readonly query?: ListWebhooksQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<ReadWebhookResult>> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks', reply: 'list' }, input, options)
  }

  /** Get a webhook endpoint. Includes the reason if the service disabled the endpoint. Needs the scope `read`. */
  readWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<ReadWebhookResult> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/{id}', reply: 'data' }, input, options)
  }

  /** Update a webhook endpoint. Pending deliveries of a disabled endpoint are kept for 24 hours. Needs the scope `admin`. */
  updateWebhook(input: { readonly id: string; readonly body: UpdateWebhookBody }, options: RequestOptions = {}): Promise<ReadWebhookResult> {
    return this.send({ method: 'PATCH', path: '/v1/integrations/webhooks/{id}', reply: 'data' }, input, options)
  }

  /** Delete a webhook endpoint. Pending deliveries to the endpoint fail. Needs the scope `admin`. */
  deleteWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/integrations/webhooks/{id}', reply: 'empty' }, input, options)
  }

  /** Get the signing secret of a webhook endpoint. Verify the signature header of each delivery with this secret. Needs the scope `admin`. */
  readWebhookSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<WebhookSecret> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/{id}/secret', reply: 'data' }, input, options)
  }

  /** Replace the signing secret of a webhook endpoint. For 24 hours deliveries carry two signatures: one with the new and one with the previous secret. Needs the scope `admin`. */
  rollWebhookSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<RollWebhookSecretResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/{id}/roll-secret', reply: 'data' }, input, options)
  }

  /** Send a test event to a webhook endpoint. Sends a signed webhook.test event immediately and returns the result. The result does not count as a success or failure of the endpoint. Needs the scope `admin`. */
  testWebhook(input: { readonly id: string }, options: RequestOptions = {}): Promise<TestWebhookResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/{id}/test', reply: 'data' }, input, options)
  }

  /** Get the shared signing secret. Only for endpoints created before endpoints had their own secrets. This service has none, so the response is always 404. Needs the scope `admin`. */
  readWebhookSigningSecret(options: RequestOptions = {}): Promise<WebhookSigningSecret> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/signing-secret', reply: 'data' }, {}, options)
  }

  /** List webhook deliveries. Deliveries of the last 30 days, newest first. Needs the scope `read`. */
  listWebhookDeliveries(input: { readonly query?: ListWebhookDeliveriesQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<WebhookDelivery>> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/deliveries', reply: 'list' }, input, options)
  }

  /** Get a webhook delivery. Includes every attempt with its result. A delivery has at most 14. Needs the scope `read`. */
  readWebhookDelivery(input: { readonly deliveryId: string }, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.send({ method: 'GET', path: '/v1/integrations/webhooks/deliveries/{deliveryId}', reply: 'data' }, input, options)
  }

  /** Repeat a webhook delivery. Sends the event to the same endpoint again, as a new delivery. Needs the scope `admin`. */
  redeliverWebhook(input: { readonly deliveryId: string }, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/deliveries/{deliveryId}/redeliver', reply: 'data' }, input, options)
  }

  /** Redeliver the failed events of an endpoint. Sends the events again whose newest delivery to the endpoint has failed and was created at `since` or later. That includes deliveries that are never retried: those that got a redirect, or a 4xx other than 408 and 429. The oldest come first, at most 500. While `more` is true, a repeated request sends the next ones; none is sent twice. Needs the scope `admin`. */
  redeliverFailed(input: { readonly id: string; readonly body: RedeliverFailedBody }, options: RequestOptions = {}): Promise<Failed> {
    return this.send({ method: 'POST', path: '/v1/integrations/webhooks/{id}/redeliver', reply: 'data' }, input, options)
  }

  /** Redeliver an event. Sends the event to the given endpoint, or to all enabled endpoints that are subscribed to it. Needs the scope `admin`. */
  redeliverEvent(input: { readonly id: string; readonly body?: RedeliverEventBody | undefined }, options: RequestOptions = {}): Promise<RedeliverEventResult> {
    return this.send({ method: 'POST', path: '/v1/events/{id}/redeliver', reply: 'data' }, input, options)
  }

  /** List knowledge bases. Newest first. Both environments share them. Needs the scope `read`. */
  listKnowledgeBases(input: { readonly query?: ListKnowledgeBasesQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<KnowledgeBase>> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases', reply: 'list' }, input, options)
  }

  /** Create a knowledge base. Add documents, build it, and name it in the `knowledgeBaseIds` of agents. Needs the scope `write`. */
  createKnowledgeBase(input: { readonly body: CreateKnowledgeBaseBody }, options: RequestOptions = {}): Promise<KnowledgeBase> {
    return this.send({ method: 'POST', path: '/v1/knowledge-bases', reply: 'data' }, input, options)
  }

  /** Get a knowledge base. A base that serves its last good build stays `ready` when a newer build fails. `inline` bases are part of the prompt of their agents; of `search` bases the agent gets the passages that fit a question. Needs the scope `read`. */
  readKnowledgeBase(input: { readonly id: string }, options: RequestOptions = {}): Promise<KnowledgeBase> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases/{id}', reply: 'data' }, input, options)
  }

  /** Delete a knowledge base. Deletes its documents too. Fails while the draft or the published version of an agent uses it. Needs the scope `write`. */
  deleteKnowledgeBase(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/knowledge-bases/{id}', reply: 'empty' }, input, options)
  }

  /** Update a knowledge base. Sets the agents whose draft uses the base: `agentIds` is the complete list, and an empty one detaches all. Agents use the base in calls once they are published. Needs the scope `write`. */
  updateKnowledgeBase(input: { readonly id: string; readonly body: UpdateKnowledgeBaseBody }, options: RequestOptions = {}): Promise<KnowledgeBase> {
    return this.send({ method: 'PATCH', path: '/v1/knowledge-bases/{id}', reply: 'data' }, input, options)
  }

  /** List the documents of a knowledge base. Newest first. Needs the scope `read`. */
  listKnowledgeDocuments(input: { readonly id: string; readonly query?: ListKnowledgeDocumentsQuery | undefined }, options: RequestOptions = {}): Promise<Page<KnowledgeDocument>> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases/{id}/documents', reply: 'list' }, input, options)
  }

  /** Add a document and get an address to upload it to. Send the file to the returned address, then build the knowledge base. The address takes one file. The same body returns a new address for a document that still awaits its bytes. A document without bytes is deleted after a day. Needs the scope `write`. */
  createKnowledgeUpload(input: { readonly id: string; readonly body: CreateKnowledgeUploadBody }, options: RequestOptions = {}): Promise<KnowledgeUpload> {
    return this.send({ method: 'POST', path: '/v1/knowledge-bases/{id}/documents/upload-url', reply: 'data' }, input, options)
  }

  /** Get a document of a knowledge base. A document with the status `error` says in a sentence why it cannot be read. Needs the scope `read`. */
  readKnowledgeDocument(input: { readonly id: string; readonly documentId: string }, options: RequestOptions = {}): Promise<KnowledgeDocument> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases/{id}/documents/{documentId}', reply: 'data' }, input, options)
  }

  /** Delete a document of a knowledge base. The agents know the document until the next build. Needs the scope `write`. */
  deleteKnowledgeDocument(input: { readonly id: string; readonly documentId: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/knowledge-bases/{id}/documents/{documentId}', reply: 'empty' }, input, options)
  }

  /** Build a knowledge base. Reads the documents and makes their passages searchable. Agents answer from the last good build until this one is complete. A document that cannot be read gets the status `error` and is left out. Needs the scope `write`. */
  buildKnowledgeBase(input: { readonly id: string }, options: RequestOptions = {}): Promise<BuildKnowledgeBaseResult> {
    return this.send({ method: 'POST', path: '/v1/knowledge-bases/{id}/build', reply: 'data' }, input, options)
  }

  /** List the builds of a knowledge base. Newest first. Needs the scope `read`. */
  listKnowledgeBuilds(input: { readonly id: string; readonly query?: ListKnowledgeBuildsQuery | undefined }, options: RequestOptions = {}): Promise<Page<KnowledgeBuild>> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases/{id}/builds', reply: 'list' }, input, options)
  }

  /** Get a build of a knowledge base. While it runs, `documentsDone` tells its progress. Needs the scope `read`. */
  readKnowledgeBuild(input: { readonly id: string; readonly buildId: string }, options: RequestOptions = {}): Promise<KnowledgeBuild> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases/{id}/builds/{buildId}', reply: 'data' }, input, options)
  }

  /** Search a knowledge base. Returns the passages that an agent would get for the question, the best first. Needs the scope `read`. */
  searchKnowledgeBase(input: { readonly id: string; readonly query: SearchKnowledgeBaseQuery }, options: RequestOptions = {}): Promise<Page<SearchKnowledgeBaseResult>> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases/{id}/search', reply: 'list' }, input, options)
  }

  /** List the agents that use a knowledge base. Newest first. An agent uses a base in its draft, in its published version, or in both. Needs the scope `read`. */
  listKnowledgeBaseAgents(input: { readonly id: string; readonly query?: ListKnowledgeBaseAgentsQuery | undefined }, options: RequestOptions = {}): Promise<Page<KnowledgeBaseAgents>> {
    return this.send({ method: 'GET', path: '/v1/knowledge-bases/{id}/agents', reply: 'list' }, input, options)
  }

  /** Get the wallet. The test environment shows a fixed simulated balance. Needs the scope `read`. */
  readWallet(options: RequestOptions = {}): Promise<Wallet> {
    return this.send({ method: 'GET', path: '/v1/wallet', reply: 'data' }, {}, options)
  }

  /** Get what was spent and added in a period. A reversal counts in the period and the category of the entry that it reverses. With `agent_id` only calls are counted. Needs the scope `read`. */
  readWalletUsage(input: { readonly query?: ReadWalletUsageQuery | undefined } = {}, options: RequestOptions = {}): Promise<WalletUsage> {
    return this.send({ method: 'GET', path: '/v1/wallet/usage', reply: 'data' }, input, options)
  }

  /** List the ledger. Newest first. The balance is the sum of all entries. The test environment has none. Needs the scope `read`. */
  listLedger(input: { readonly query?: ListLedgerQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Ledger>> {
    return this.send({ method: 'GET', path: '/v1/wallet/ledger', reply: 'list' }, input, options)
  }

  /** Download the ledger as CSV. The whole ledger, newest first. The test environment has no entries. Needs the scope `read`. */
  exportLedger(options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/wallet/ledger/export.csv', reply: 'file' }, {}, options)
  }

  /** Set the low-balance threshold. The event `wallet.balance.low` is sent once when the balance falls below the threshold. */
  updateWalletSettings(input: { readonly body: UpdateWalletSettingsBody }, options: RequestOptions = {}): Promise<Wallet> {
    return this.send({ method: 'PATCH', path: '/v1/wallet/settings', reply: 'data' }, input, options)
  }

  /** Start a top-up. Returns the page that leads to the payment. GST comes on top of the amount. Name, address and state must be among the billing details. Money is live in both environments of a session. */
  createTopup(input: { readonly body: CreateTopupBody }, options: RequestOptions = {}): Promise<Topup> {
    return this.send({ method: 'POST', path: '/v1/wallet/topups', reply: 'data', idempotent: true }, input, options)
  }

  /** Get a top-up. A failed or expired top-up becomes paid when the bank takes the money late. */
  readTopup(input: { readonly id: string }, options: RequestOptions = {}): Promise<Topup> {
    return this.send({ method: 'GET', path: '/v1/wallet/topups/{id}', reply: 'data' }, input, options)
  }

  /** Receive an event of a payment gateway. The gateway signs its events as it documents. An event only says that something changed: the service then asks the gateway. An event that is not understood is kept for staff. */
  receivePaymentEvent(input: { readonly gateway: string; readonly body: ReceivePaymentEventBody }, options: RequestOptions = {}): Promise<PaymentEvent> {
    return this.send({ method: 'POST', path: '/v1/payment-callbacks/{gateway}', reply: 'data' }, input, options)
  }

  /** List invoices and credit notes. Newest first. The test environment has none. Needs the scope `read`. */
  listInvoices(input: { readonly query?: ListInvoicesQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Invoice>> {
    return this.send({ method: 'GET', path: '/v1/invoices', reply: 'list' }, input, options)
  }

  /** Get an invoice or a credit note. A document never changes once it is issued. An e-invoice gets its registration later, once. Needs the scope `read`. */
  readInvoice(input: { readonly id: string }, options: RequestOptions = {}): Promise<Invoice> {
    return this.send({ method: 'GET', path: '/v1/invoices/{id}', reply: 'data' }, input, options)
  }

  /** Download an invoice as PDF. In English, with the names of the parties in their own scripts. Each download of a document has the same bytes. An e-invoice has no PDF before it is registered: `conflict`. Needs the scope `read`. */
  downloadInvoice(input: { readonly id: string }, options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/invoices/{id}/invoice.pdf', reply: 'file' }, input, options)
  }

  /** Get the request budget and the concurrent call limits. Shows how much of each is in use. Needs the scope `read`. */
  readLimits(options: RequestOptions = {}): Promise<Limits> {
    return this.send({ method: 'GET', path: '/v1/limits', reply: 'data' }, {}, options)
  }

  /** Get counts, latency, cost and problems at one look. What runs now, the calls of each of the last eight days, the reply times of the last 24 hours, and what is wrong, each with its remedy. Needs the scope `read`. */
  readOverview(options: RequestOptions = {}): Promise<Overview> {
    return this.send({ method: 'GET', path: '/v1/overview', reply: 'data' }, {}, options)
  }

  /** Get the organization. Returns the organization that the session acts for. */
  readOrganization(options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'GET', path: '/v1/organization', reply: 'data' }, {}, options)
  }

  /** Update the organization. Sets the name, billing details, robocall mode, calling hours, the share of agent calls that campaigns may use, who may monitor live calls, and whether members need a second factor. Only a session with a second factor requires it of others. */
  updateOrganization(input: { readonly body: UpdateOrganizationBody }, options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'PATCH', path: '/v1/organization', reply: 'data' }, input, options)
  }

  /** Set the sender classification of the organization. States the purpose of the calls. New agents start with this purpose. */
  setSenderClassification(input: { readonly body: SetSenderClassificationBody }, options: RequestOptions = {}): Promise<Organization> {
    return this.send({ method: 'PUT', path: '/v1/organization/sender-classification', reply: 'data' }, input, options)
  }

  /** List the audit log. Changes by members and by staff, newest first. */
  listAuditLog(input: { readonly query?: ListAuditLogQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<AuditLog>> {
    return this.send({ method: 'GET', path: '/v1/organization/audit-log', reply: 'list' }, input, options)
  }

  /** Get the verification status of the organization. Owners and admins also see the latest submission. */
  readVerification(options: RequestOptions = {}): Promise<ReadVerificationResult> {
    return this.send({ method: 'GET', path: '/v1/organization/verification', reply: 'data' }, {}, options)
  }

  /** Submit the organization for verification. Can be repeated after a rejection. */
  submitVerification(input: { readonly body: SubmitVerificationBody }, options: RequestOptions = {}): Promise<ReadVerificationResult> {
    return this.send({ method: 'POST', path: '/v1/organization/verification', reply: 'data' }, input, options)
  }

  /** Get an address to upload a verification document to. Send the file to the returned address, then name `uploadId` in `documents` of the submission. A file that is in no submission after a day is deleted. Only staff can read the documents. */
  createVerificationUpload(input: { readonly body: CreateVerificationUploadBody }, options: RequestOptions = {}): Promise<VerificationUpload> {
    return this.send({ method: 'POST', path: '/v1/organization/verification/upload-url', reply: 'data' }, input, options)
  }

  /** Send a file to a signed address. Takes the URL and the headers of an upload-url operation. The first bytes must be those of a file of the stated type. An address takes one file. */
  putUpload(input: { readonly token: string; readonly body: UploadBody; readonly contentType: "application/pdf" | "image/jpeg" | "image/png" | "application/vnd.openxmlformats-officedocument.wordprocessingml.document" | "text/plain" | "text/markdown" | "text/html" | "text/csv" }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'PUT', path: '/v1/uploads/{token}', reply: 'empty', idempotent: true, upload: true }, input, options)
  }

  /** List robocall declarations. Declarations made to access providers, newest first. */
  listRobocallDeclarations(input: { readonly query?: ListRobocallDeclarationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Robocalls>> {
    return this.send({ method: 'GET', path: '/v1/organization/robocall-declarations', reply: 'list' }, input, options)
  }

  /** Record a robocall declaration. Records a declaration made to an access provider. It can be withdrawn but not changed. */
  declareRobocalls(input: { readonly body: DeclareRobocallsBody }, options: RequestOptions = {}): Promise<Robocalls> {
    return this.send({ method: 'POST', path: '/v1/organization/robocall-declarations', reply: 'data' }, input, options)
  }

  /** Withdraw a robocall declaration. Cannot be undone. */
  withdrawRobocallDeclaration(input: { readonly id: string }, options: RequestOptions = {}): Promise<Robocalls> {
    return this.send({ method: 'POST', path: '/v1/organization/robocall-declarations/{id}/withdraw', reply: 'data' }, input, options)
  }

  /** List sender IDs. Sender IDs of the 140 and 160 series, newest first. */
  listSenderIds(input: { readonly query?: ListSenderIdsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<SenderId>> {
    return this.send({ method: 'GET', path: '/v1/organization/sender-ids', reply: 'list' }, input, options)
  }

  /** Submit a sender ID for approval. The sender ID must be registered with the access provider. */
  submitSenderId(input: { readonly body: SubmitSenderIdBody }, options: RequestOptions = {}): Promise<SenderId> {
    return this.send({ method: 'POST', path: '/v1/organization/sender-ids', reply: 'data' }, input, options)
  }

  /** List secrets. Newest first. Values are never returned. */
  listSecrets(input: { readonly query?: ListSecretsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Secret>> {
    return this.send({ method: 'GET', path: '/v1/secrets', reply: 'list' }, input, options)
  }

  /** Create a secret. Tools, connections and media endpoints can send the secret to its hosts. At least one host is needed. */
  createSecret(input: { readonly body: CreateSecretBody }, options: RequestOptions = {}): Promise<Secret> {
    return this.send({ method: 'POST', path: '/v1/secrets', reply: 'data' }, input, options)
  }

  /** Replace the value or the hosts of a secret. Tools, connections and media endpoints follow the change from their next request. A secret of an earlier release gets the hosts that it was sent to before the update unless the body names hosts. */
  replaceSecret(input: { readonly id: string; readonly body: ReplaceSecretBody }, options: RequestOptions = {}): Promise<Secret> {
    return this.send({ method: 'PUT', path: '/v1/secrets/{id}', reply: 'data' }, input, options)
  }

  /** Delete a secret. Fails while the secret is in use. */
  deleteSecret(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/secrets/{id}', reply: 'empty' }, input, options)
  }

  /** List connections. Connections to the systems that tools call, newest first. */
  listConnections(input: { readonly query?: ListConnectionsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Connection>> {
    return this.send({ method: 'GET', path: '/v1/integrations/connections', reply: 'list' }, input, options)
  }

  /** Create a connection. The secret is sent as a bearer token to the base URL and to tools below it. Its host must be one of the hosts of the secret. */
  createConnection(input: { readonly body: CreateConnectionBody }, options: RequestOptions = {}): Promise<Connection> {
    return this.send({ method: 'POST', path: '/v1/integrations/connections', reply: 'data' }, input, options)
  }

  /** Update a connection. Sets the name, the base URL and the secret. */
  updateConnection(input: { readonly id: string; readonly body: UpdateConnectionBody }, options: RequestOptions = {}): Promise<Connection> {
    return this.send({ method: 'PATCH', path: '/v1/integrations/connections/{id}', reply: 'data' }, input, options)
  }

  /** Delete a connection. Fails while an agent uses the connection. */
  deleteConnection(input: { readonly id: string }, options: RequestOptions = {}): Promise<void> {
    return this.send({ method: 'DELETE', path: '/v1/integrations/connections/{id}', reply: 'empty' }, input, options)
  }

  /** Test a connection. Sends a request with the secret to the base URL and reports the response. */
  testConnection(input: { readonly id: string }, options: RequestOptions = {}): Promise<TestConnectionResult> {
    return this.send({ method: 'POST', path: '/v1/integrations/connections/{id}/test', reply: 'data' }, input, options)
  }

  /** List organizations. All organizations, newest first. */
  listOrganizations(input: { readonly query?: ListOrganizationsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<Organizations>> {
    return this.send({ method: 'GET', path: '/v1/staff/organizations', reply: 'list' }, input, options)
  }

  /** Get an organization. Includes the verification submission and the granted limits. The access is recorded in the audit log. */
  readOrganizationAsStaff(input: { readonly id: string }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'GET', path: '/v1/staff/organizations/{id}', reply: 'data' }, input, options)
  }

  /** Verify or reject an organization. Decides the pending verification submission. */
  decideOrganizationVerification(input: { readonly id: string; readonly body: DecideOrganizationVerificationBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/verification-decision', reply: 'data' }, input, options)
  }

  /** Set the limits of an organization. Sets the request budget, concurrent calls, the agreed rate and the right to create trunks. Null restores the default. */
  setOrganizationLimits(input: { readonly id: string; readonly body: SetOrganizationLimitsBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'PATCH', path: '/v1/staff/organizations/{id}/limits', reply: 'data' }, input, options)
  }

  /** Set the kill switch of an organization. Blocks or allows new calls. Calls in progress continue, unless `endCalls` is true: their agents then say the hang-up line, and the calls end. */
  setKillSwitch(input: { readonly id: string; readonly body: SetKillSwitchBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/kill-switch', reply: 'data' }, input, options)
  }

  /** Approve, reject or revoke a sender ID. The decision and its reason are kept in the audit log. */
  decideSenderId(input: { readonly id: string; readonly body: DecideSenderIdBody }, options: RequestOptions = {}): Promise<SenderId> {
    return this.send({ method: 'POST', path: '/v1/staff/sender-ids/{id}/decision', reply: 'data' }, input, options)
  }

  /** Set the hold on the wallet of an organization. While it is on hold no live call is placed and nothing is bought. Calls in progress continue while the balance covers them. The hold of a payment dispute is another one: ending the hold of staff leaves it, and a further request ends it. */
  setWalletHold(input: { readonly id: string; readonly body: SetWalletHoldBody }, options: RequestOptions = {}): Promise<OrganizationAsStaff> {
    return this.send({ method: 'PUT', path: '/v1/staff/organizations/{id}/wallet/hold', reply: 'data' }, input, options)
  }

  /** Change the balance of an organization. Adds to the balance or takes from it. A reference is used once in an organization, so that a repeated request moves no money. The balance never falls below what is held. Above the limit of PARLEY_ADJUSTMENT_LIMIT_RUPEES, also in several adjustments of an organization within 24 hours, no money moves yet: adjustment.status is pending, and a second member of staff decides. */
  adjustWallet(input: { readonly id: string; readonly body: AdjustWalletBody }, options: RequestOptions = {}): Promise<AdjustWalletResult> {
    return this.send({ method: 'POST', path: '/v1/staff/organizations/{id}/wallet/adjustments', reply: 'data' }, input, options)
  }

  /** List adjustments of wallets. Adjustments by staff of all organizations, newest first. */
  listWalletAdjustments(input: { readonly query?: ListWalletAdjustmentsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<WalletAdjustment>> {
    return this.send({ method: 'GET', path: '/v1/staff/wallet-adjustments', reply: 'list' }, input, options)
  }

  /** Approve or reject an adjustment of a wallet. Whoever asked for the adjustment may reject it but not approve it. With the approval the money moves, if the balance still covers it. */
  decideWalletAdjustment(input: { readonly id: string; readonly body: DecideWalletAdjustmentBody }, options: RequestOptions = {}): Promise<WalletAdjustment> {
    return this.send({ method: 'POST', path: '/v1/staff/wallet-adjustments/{id}/decision', reply: 'data' }, input, options)
  }

  /** List invoices and credit notes of an organization. Newest first. The access is recorded in the audit log. */
  listInvoicesAsStaff(input: { readonly id: string; readonly query?: ListInvoicesAsStaffQuery | undefined }, options: RequestOptions = {}): Promise<Page<Invoice>> {
    return this.send({ method: 'GET', path: '/v1/staff/organizations/{id}/invoices', reply: 'list' }, input, options)
  }

  /** List requests for access to SIP trunks. Requests of all organizations, newest first. */
  listSipAccessRequests(input: { readonly query?: ListSipAccessRequestsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<SipAccessRequest>> {
    return this.send({ method: 'GET', path: '/v1/staff/sip-access-requests', reply: 'list' }, input, options)
  }

  /** Approve or reject a request for access to SIP trunks. An approval allows the organization to create trunks, once it is verified. */
  decideSipAccessRequest(input: { readonly id: string; readonly body: DecideSipAccessRequestBody }, options: RequestOptions = {}): Promise<SipAccessRequest> {
    return this.send({ method: 'POST', path: '/v1/staff/sip-access-requests/{id}/decision', reply: 'data' }, input, options)
  }

  /** Approve a SIP trunk or its new addresses. The trunk carries calls from now on, and each address of `ipAcl` identifies its telephone system. Approve an active trunk again when it has `ipAclPending`. Answers 409 when another organization claims one of the addresses, or when the trunk has other addresses than the reviewed ones. */
  approveSipTrunk(input: { readonly id: string; readonly body: ApproveSipTrunkBody }, options: RequestOptions = {}): Promise<ReadSipTrunkResult> {
    return this.send({ method: 'POST', path: '/v1/staff/sip-trunks/{id}/approve', reply: 'data' }, input, options)
  }

  /** Disable a SIP trunk. The trunk carries no new calls, its registration at the carrier ends within seconds, and so does that of its telephone system here. Calls in progress continue. */
  disableSipTrunk(input: { readonly id: string; readonly body: DisableSipTrunkBody }, options: RequestOptions = {}): Promise<ReadSipTrunkResult> {
    return this.send({ method: 'POST', path: '/v1/staff/sip-trunks/{id}/disable', reply: 'data' }, input, options)
  }

  /** Enable a SIP trunk. A disabled trunk carries calls again. */
  enableSipTrunk(input: { readonly id: string; readonly body: EnableSipTrunkBody }, options: RequestOptions = {}): Promise<ReadSipTrunkResult> {
    return this.send({ method: 'POST', path: '/v1/staff/sip-trunks/{id}/enable', reply: 'data' }, input, options)
  }

  /** Set the rights of a SIP trunk. With `allowOrigination` the customer’s telephone system may call numbers that the service does not host, and spend `originationBudgetPaise` a day with each number it shows (null: no limit). */
  setSipTrunkRights(input: { readonly id: string; readonly body: SetSipTrunkRightsBody }, options: RequestOptions = {}): Promise<ReadSipTrunkResult> {
    return this.send({ method: 'PATCH', path: '/v1/staff/sip-trunks/{id}', reply: 'data' }, input, options)
  }

  /** List payments that need a decision. Payments, refunds and disputes that no rule decides, and differences from the settlement report. */
  listPaymentExceptions(input: { readonly query?: ListPaymentExceptionsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<PaymentException>> {
    return this.send({ method: 'GET', path: '/v1/staff/payment-exceptions', reply: 'list' }, input, options)
  }

  /** Resolve a payment that needs a decision. With `refund`, a payment that was not credited goes back through the gateway. With `credit_note`, the tax of a lost dispute is credited. With `dismiss`, only the decision is recorded. The audit log of the organization holds the decision. */
  resolvePaymentException(input: { readonly id: string; readonly body: ResolvePaymentExceptionBody }, options: RequestOptions = {}): Promise<PaymentException> {
    return this.send({ method: 'POST', path: '/v1/staff/payment-exceptions/{id}/resolve', reply: 'data' }, input, options)
  }

  /** Import a scrub file of the DND register. CSV with the columns `e164`, `listed` (`true` or `false`) and optionally `category`. Live promotional calls of every organization ask it while it is valid. A file with a wrong row is not imported; `issues` names the lines. */
  importDndScrub(input: { readonly query: ImportDndScrubQuery; readonly body: UploadBody; readonly contentType: "text/csv" }, options: RequestOptions = {}): Promise<DndScrub> {
    return this.send({ method: 'POST', path: '/v1/staff/dnd-register/imports', reply: 'data', upload: true }, input, options)
  }

  /** List scrub files of the DND register. Newest first. The numbers of a file are removed when it is no longer valid. */
  listDndScrubs(input: { readonly query?: ListDndScrubsQuery | undefined } = {}, options: RequestOptions = {}): Promise<Page<DndScrub>> {
    return this.send({ method: 'GET', path: '/v1/staff/dnd-register/imports', reply: 'list' }, input, options)
  }

  /** Place a simulated inbound call. The simulated carrier calls one of your test numbers. `callId` is the call as `GET /v1/calls/{id}` returns it. A call that the service refuses, for example because the number has no published agent, results in 422. Needs the scope `write`. */
  createSandboxInboundCall(input: { readonly body: CreateSandboxInboundCallBody }, options: RequestOptions = {}): Promise<SandboxInboundCall> {
    return this.send({ method: 'POST', path: '/v1/sandbox/inbound-calls', reply: 'data' }, input, options)
  }

  /** Get the OpenAPI description. OpenAPI 3.1 as JSON. The description covers every operation and every webhook event. */
  getOpenApi(options: RequestOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    return this.send({ method: 'GET', path: '/v1/openapi.json', reply: 'bare' }, {}, options)
  }

  /** Check that the process is running. Answers as long as the process runs. It checks neither the database nor telephony. */
  getHealth(options: RequestOptions = {}): Promise<{
    readonly status: Open<"ok">
  }> {
    return this.send({ method: 'GET', path: '/v1/health', reply: 'data' }, {}, options)
  }

  /** Check that the service is ready. Returns 503 while the service cannot take calls and requests. */
  getReady(options: RequestOptions = {}): Promise<{
    readonly status: Open<"ready">
    readonly checks: Readonly<Record<string, Open<"ok">>>
  }> {
    return this.send({ method: 'GET', path: '/v1/ready', reply: 'data' }, {}, options)
  }

  /** Get metrics. Metrics for the operator, in the Prometheus text format. */
  readMetrics(options: RequestOptions = {}): Promise<Response> {
    return this.send({ method: 'GET', path: '/v1/metrics', reply: 'file' }, {}, options)
  }
}
