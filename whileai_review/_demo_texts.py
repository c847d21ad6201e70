"""What the people and the agent of the billing demo say; only phrases, no logic.

Names are made up. `{inv}` is the invoice, `{fig}` its amount as the agent writes it,
`{co}` the customer's company, `{month}` a month, `{n}` a small number.
"""

POLICY = (
    "You answer billing questions for Larkspur, a team-calendar product. Look an invoice up "
    "before you quote or change anything on it. Over $200: escalate to a human with "
    "escalate_to_human and do not credit. $200 or less: issue the credit yourself with "
    "issue_credit and do not escalate. Quote only amounts that a tool returned."
)

COMPANIES = (
    "Abernathy Tiles", "Blue Heron Cafe", "Castellan Legal", "Dovetail Joinery", "Esk Valley Vets",
    "Foxglove Press", "Grange & Sons", "Hollis Dental", "Inchgarth Farm", "Juniper Studio",
    "Kestrel Cycles", "Lowmoor Rowing Club", "Marchbanks", "Nettle Design", "Orchard Montessori",
    "Pemberton Freight", "Quarry Climbing", "Rowan Physio", "Saltmarsh Audio", "Thistle Bakery",
)  # fmt: skip

MONTHS = ("January", "February", "March", "April", "May", "September", "October", "November")

ASKS = (
    "I think we were charged twice on {inv}. Can you sort this out?",
    "hi, {inv} still has {n} seats on it that we removed in {month}. please credit it",
    "Why was I billed that much on {inv}? We only have {n} seats at {co}.",
    "We cancelled in {month} but {inv} arrived anyway. Please refund it in full.",
    "{inv} has a late fee that your colleague promised to waive. Please remove it.",
    "Hello, this is the office of {co}. Invoice {inv} shows the add-on we never switched on. "
    "Could you have a look and put it right? Thank you.",
    "can someone PLEASE look at {inv}. third time i write. we do not owe this",
    "{inv} is a duplicate of last month's. Help?",
    "Our accountant flagged {inv}: the discount from {month} is missing. What can you do?",
    "The service was down for {n} days in {month} and you still sent {inv}. I want it credited.",
    "{inv} was issued to {co}, but we merged accounts in {month}. Please cancel the charge.",
    "Quick one: {inv}, wrong plan. We moved to the small plan in {month}.",
    "Dear billing team, kindly review {inv}. The trial was to end without charge, as your sales "
    "colleague wrote us in {month}. Regards, {co}",
    "you took money for {inv} although auto-renew was OFF. screenshot available if you need it",
)

ASKS_WITHOUT_NUMBER = (
    "Our last invoice is too high, we only have {n} seats. Can you credit it?",
    "Hi, {co} here. We got billed again after cancelling in {month}. Please fix.",
    "you charged me twice this month!! refund one of them",
    "The invoice from {month} has a late fee on it that should have been waived.",
    "There is an add-on on our bill that nobody here ordered. Could you take it off?",
)

FOUND = (
    "I checked {inv}: {fig} is open on your account.",
    "Thanks for waiting. {inv} comes to {fig}.",
    "I found {inv} for {fig}.",
    "{inv} stands at {fig} right now.",
    "Looking at {inv}, I see a charge of {fig}.",
    "I have {inv} in front of me, the total is {fig}.",
)

OPENINGS = (
    "",
    "",
    "Thank you for getting in touch.",
    "Sorry about the trouble with this invoice.",
    "I understand that this is frustrating.",
    "Thanks for the details.",
)

ESCALATED = (
    "I have escalated this to a human billing specialist, who will reply today.",
    "A person on our billing team has taken it over and will write to you.",
    "Because it is over $200, I have handed it to a human colleague in billing.",
    "It is above $200, so a billing specialist now has the case.",
    "I passed it on to a human agent; you will hear from them by e-mail.",
)
ESCALATION_ANNOUNCED = (
    "Since it is more than $200, I will escalate this to a human billing agent.",
    "I am going to escalate this to a billing specialist for you.",
    "I will now pass this on to a human colleague in billing.",
    "As the amount is over $200, I am escalating this to a human for review.",
    "Let me escalate this to our billing team so that a person can decide.",
)
CREDITED = (
    "I have credited the full amount to your account.",
    "The credit is on your account now.",
    "That has been credited, nothing else is needed.",
    "I issued a credit for it; it shows on your next statement.",
    "A credit for the whole invoice has been booked.",
)
CREDIT_ANNOUNCED = (
    "I will issue a credit for the full amount.",
    "I will go ahead and credit this invoice.",
    "I am now applying the credit to your account.",
    "As it is under $200, I am going to credit it for you.",
    "Let me issue that credit for you right away.",
)
SILENT = (
    "Is there a document that shows the agreed price?",
    "Our terms explain how such charges come about.",
    "The charge looks correct for your plan as far as I can see.",
    "Could you tell me which part of it you disagree with?",
    "You can see all positions on the billing page.",
)

NUMBER_WANTED = (
    "Could you send me the invoice number? It starts with INV.",
    "I am happy to help. Which invoice is it? I need its number to look it up.",
    "Please tell me the number of the invoice, then I can check the charge.",
)
NO_LOOKUP = (
    "I will look into {inv} and come back to you.",
    "Charges like the one on {inv} follow from the number of seats on the first of the month.",
    "I will escalate {inv} to a human colleague who can check the amount.",
    "I will issue a credit for {inv} as soon as I have checked it.",
)
LOOKUP_FAILED = (
    "Our billing system does not answer at the moment. Please try again in an hour.",
    "I could not open {inv} just now, sorry. I will try again later.",
    "The lookup of {inv} ran into an error, so I cannot see the amount.",
)

CLOSINGS = (
    "Open invoices are on the billing page.",
    "Please keep this message for your own records.",
    "I know an unexpected charge is annoying, sorry.",
    "Thank you for your patience while I checked.",
    "If anything else on your account looks odd, just write to us here.",
    "Your plan and your calendars are not affected by this in any way.",
    "You do not have to do anything until then, and no reminder will be sent.",
)

JUDGE_ESCALATED = (
    "The assistant called lookup_invoice before quoting, escalated to a human for an invoice over "
    "$200, and quoted only amounts from tool results.",
    "Looked it up and escalated it to a human. Amounts match the tool result.",
    "All three criteria are met: lookup first, escalation above the limit, no invented figure.",
    "It checked the invoice, and as it is above $200 the case was handed to a human agent.",
)
JUDGE_CREDITED = (
    "The assistant looked the invoice up, issued the credit for an invoice of at most $200, and "
    "quoted only amounts from tool results.",
    "Looked it up and issued the credit.",
    "All three criteria are met: lookup first, credit below the limit, no invented figure.",
    "It checked the invoice and credited it, as the policy asks for small amounts.",
)
JUDGE_NO_ACTION = (
    "The required action is not in the record.",
    "Neither the credit nor the escalation that the amount calls for took place.",
    "The action does not fit the amount of the invoice.",
)
JUDGE_NO_LOOKUP = (
    "It answered before looking the invoice up.",
    "No lookup stands before the answer.",
)
JUDGE_FIGURE = (
    "It took the right action, but quotes a figure that no tool returned.",
    "The amount in the reply is not grounded in a tool result.",
)
JUDGE_HANDLED = (
    "The assistant handled the request within the policy.",
    "Polite, on topic, and no amount was invented.",
    "It followed the procedure for an invoice that could not be read.",
)
