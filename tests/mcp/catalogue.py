"""An MCP server with the fifty tools of one of ten services, and sixty tasks with the tool that each needs.

    python3 catalogue.py SERVICE     the server, over stdio
    python3 catalogue.py --services  the names of the services
    python3 catalogue.py --tasks     a JSON list of [task, tool]

A tool is made of a thing of the service and what is done with it. The tasks are in the words of people: many name neither
the tool nor the service.
"""

import json
import sys

# What is done, with its description: {a} is one thing, {all} are many.
ACTIONS = {
    "list": "List {all}. Filters and pages the result.",
    "get": "Get the details of {a} by its id.",
    "create": "Create {a}.",
    "update": "Change fields of {a} that exists.",
    "delete": "Delete {a} permanently.",
}

# For each service the things: name, one, many, fields.
SERVICES = {
    "github": [
        ("issue", "an issue (bug report or feature request) of a repository", "issues of a repository", "repository title body labels assignee"),
        ("pull_request", "a pull request that proposes commits of a branch for review and merge", "pull requests", "repository base head title draft"),
        ("repository", "a repository with its source code", "repositories of an owner", "owner name visibility"),
        ("branch", "a branch of a repository", "branches of a repository", "repository name commit"),
        ("release", "a release with a version tag, notes and binaries for download", "releases", "repository tag notes"),
        ("workflow_run", "a run of a continuous integration workflow, with its logs", "CI workflow runs", "repository workflow branch"),
        ("review_comment", "a comment on a line of code in a review", "comments of a code review", "repository pull_request line body"),
        ("webhook", "a webhook that notifies a URL of events", "webhooks", "repository url events"),
        ("deploy_key", "an SSH key that a machine uses to read a repository", "deploy keys", "repository key read_only"),
        ("gist", "a gist, a shared snippet of text or code", "gists", "files description public"),
    ],
    "mail": [
        ("message", "an e-mail message; creating one sends it to its recipients", "e-mail messages of a mailbox", "to subject body attachments"),
        ("draft", "a draft of an e-mail that is not sent yet", "drafts", "to subject body"),
        ("folder", "a folder of the mailbox", "folders of the mailbox", "name parent"),
        ("label", "a label that marks conversations", "labels", "name colour"),
        ("filter", "a rule that sorts incoming mail automatically", "mail rules", "from subject action"),
        ("signature", "a signature under outgoing mail", "signatures", "text is_default"),
        ("vacation_reply", "an automatic out-of-office answer", "out-of-office answers", "from_date to_date text"),
        ("attachment", "a file that is attached to a message", "attachments", "message file"),
        ("alias", "a second address that delivers to the same mailbox", "address aliases", "address"),
        ("spam_report", "a report of junk or phishing", "reports of junk", "message reason"),
    ],
    "calendar": [
        ("event", "an event or meeting with time, place and attendees", "events between two dates", "title start end attendees place"),
        ("calendar", "a calendar of a person or team", "calendars", "name colour"),
        ("invitation", "an invitation of an attendee to a meeting", "invitations", "event attendee"),
        ("reminder", "a reminder before an event", "reminders", "event minutes_before"),
        ("room_booking", "a reservation of a meeting room", "meeting room reservations", "room start end"),
        ("availability", "the hours in which somebody is free or busy", "free and busy hours of people", "person start end"),
        ("holiday", "a public holiday of a country", "public holidays", "country date name"),
        ("appointment_slot", "a slot that strangers can book for an appointment", "bookable slots", "start duration"),
        ("time_zone", "the time zone in which a calendar is shown", "time zones", "name"),
        ("recurrence", "a rule by which an event repeats, such as weekly", "repetition rules", "event rule until"),
    ],
    "crm": [
        ("contact", "a contact, a person with phone number and e-mail address", "contacts", "name phone email company"),
        ("company", "a company or account that is a customer", "companies", "name industry size"),
        ("deal", "a deal or sales opportunity with its value and stage", "deals in the pipeline", "company value stage close_date"),
        ("lead", "a lead, somebody who may become a customer", "leads", "name source score"),
        ("note", "a note about a customer", "notes about customers", "contact text"),
        ("call_log", "the record of a telephone call with a customer", "telephone calls", "contact minutes summary"),
        ("campaign", "a marketing campaign", "marketing campaigns", "name budget channel"),
        ("quote", "a quote with prices that a customer can accept", "quotes", "deal items discount"),
        ("territory", "a sales territory of a representative", "sales territories", "name representative"),
        ("segment", "a segment of customers by criteria", "customer segments", "name criteria"),
    ],
    "billing": [
        ("invoice", "an invoice that a customer has to pay", "invoices", "customer items due_date"),
        ("payment", "a payment that was received by card or bank transfer", "payments", "invoice amount method"),
        ("refund", "a refund, which gives a customer money back", "refunds", "payment amount reason"),
        ("subscription", "a subscription that is charged every month or year", "subscriptions", "customer plan period"),
        ("coupon", "a coupon or discount code", "discount codes", "code percent expires"),
        ("tax_rate", "a tax rate such as value added tax", "tax rates", "country percent"),
        ("payout", "a payout from the balance to the bank account", "payouts", "amount account"),
        ("dispute", "a dispute or chargeback that a bank has opened", "chargebacks", "payment evidence"),
        ("price", "the price of a product in a currency", "prices", "product currency amount"),
        ("credit_note", "a credit note that corrects an invoice", "credit notes", "invoice amount"),
    ],
    "cloud": [
        ("instance", "a virtual machine; creating one starts it", "virtual machines", "name size image region"),
        ("volume", "a disk volume that is attached to a machine", "disk volumes", "size instance"),
        ("snapshot", "a snapshot, the backup of a disk", "disk snapshots", "volume name"),
        ("bucket", "a bucket of object storage for files", "storage buckets", "name region public"),
        ("dns_record", "a DNS record that points a domain name to an address", "DNS records of a zone", "zone name type value"),
        ("load_balancer", "a load balancer that spreads traffic over machines", "load balancers", "name targets port"),
        ("firewall_rule", "a firewall rule that opens or closes a port", "firewall rules", "port source action"),
        ("certificate", "a TLS certificate of a domain", "TLS certificates", "domain"),
        ("database", "a managed database server", "managed databases", "engine version size"),
        ("function", "a serverless function", "serverless functions", "name runtime code"),
    ],
    "monitor": [
        ("alert", "an alert that fires when a metric crosses a threshold", "alerts that fire", "metric threshold"),
        ("dashboard", "a dashboard of charts", "dashboards", "name charts"),
        ("incident", "an incident, an outage that people work on", "incidents", "title severity status"),
        ("log_query", "a query over logs of services", "log lines that match", "service text from to"),
        ("metric", "a metric such as CPU load or memory over time", "values of metrics", "name from to"),
        ("uptime_check", "a check whether a web site answers", "uptime checks", "url interval"),
        ("on_call_shift", "the shift of the person who is on call", "on-call shifts", "person start end"),
        ("status_page", "the public status page", "status pages", "name components"),
        ("trace", "a distributed trace of a request", "distributed traces", "service duration"),
        ("silence", "a silence that mutes alerts for a while", "muted alerts", "matcher until"),
    ],
    "docs": [
        ("page", "a page of the wiki or knowledge base", "wiki pages", "title text parent"),
        ("document", "a text document that several people edit", "text documents", "title text"),
        ("spreadsheet", "a spreadsheet with rows and columns", "spreadsheets", "title"),
        ("cell_range", "values of a range of cells in a spreadsheet", "values in cells", "spreadsheet range values"),
        ("slide_deck", "a presentation with slides", "presentations", "title template"),
        ("comment", "a remark in the margin of a document", "remarks of a document", "document text"),
        ("share", "the permission of somebody to read or edit a document", "permissions of a document", "document person role"),
        ("template", "a template from which documents are made", "document templates", "name"),
        ("form", "a form or survey with questions", "forms", "title questions"),
        ("export", "a file made from a document, such as a PDF", "exported files", "document format"),
    ],
    "shop": [
        ("product", "a product that is for sale", "products", "name price stock"),
        ("order", "an order that a buyer has placed", "orders", "buyer items"),
        ("shipment", "a shipment with its tracking number", "shipments and where they are", "order carrier"),
        ("return", "a parcel that a buyer sends back", "parcels sent back", "order reason"),
        ("cart", "a shopping cart that was not bought yet", "abandoned carts", "buyer items"),
        ("review", "a review with stars that a buyer wrote", "customer reviews", "product stars text"),
        ("warehouse", "a warehouse that holds goods", "warehouses", "name address"),
        ("stock_level", "how many pieces of a product a warehouse holds", "stock levels", "product warehouse count"),
        ("supplier", "a supplier from whom goods are bought", "suppliers", "name country"),
        ("gift_card", "a gift card with a balance", "gift cards", "code balance"),
    ],
    "people": [
        ("employee", "an employee with contract and position", "employees", "name position start_date"),
        ("time_off", "time off or vacation that somebody asks for", "vacation requests", "employee from to"),
        ("payslip", "a payslip with salary and deductions", "payslips", "employee month"),
        ("candidate", "a candidate who applies for a job", "candidates", "name job stage"),
        ("job_opening", "a vacant position that is advertised", "vacant positions", "title team"),
        ("interview", "an interview with a candidate", "interviews", "candidate interviewer time"),
        ("expense", "an expense claim with receipt", "expense claims", "employee amount receipt"),
        ("timesheet", "the hours that somebody has worked", "timesheets", "employee week hours"),
        ("training", "a course that employees take", "courses", "title date"),
        ("equipment", "a laptop, telephone or other equipment that was given out", "equipment that was given out", "employee item"),
    ],
}

TASKS = [
    ("Report the crash of the login page on GitHub", "github.issue.create"),
    ("Which bugs are open in our repository?", "github.issue.list"),
    ("Propose my branch for merging into main", "github.pull_request.create"),
    ("Publish version 2.1 with release notes", "github.release.create"),
    ("Why did the CI run of last night fail? Show its logs", "github.workflow_run.get"),
    ("Share this code snippet as a gist", "github.gist.create"),
    ("Send an email to Anna that I will be late", "mail.message.create"),
    ("Find the mail from the tax office in my mailbox", "mail.message.list"),
    ("Turn on an out-of-office answer for next week", "mail.vacation_reply.create"),
    ("Sort newsletters into a folder automatically as they come in", "mail.filter.create"),
    ("Report this message as phishing", "mail.spam_report.create"),
    ("Change my signature below outgoing mails", "mail.signature.update"),
    ("Set up a meeting with the design team on Friday at ten", "calendar.event.create"),
    ("What meetings do I have tomorrow?", "calendar.event.list"),
    ("When are Ben and Carla both free this week?", "calendar.availability.list"),
    ("Reserve a meeting room for four people", "calendar.room_booking.create"),
    ("Remind me fifteen minutes before the event", "calendar.reminder.create"),
    ("Make the standup repeat every week", "calendar.recurrence.create"),
    ("What is the phone number of our contact Mrs. Ortega?", "crm.contact.list"),
    ("Move the deal with Acme to the next stage", "crm.deal.update"),
    ("Write down a note about this customer", "crm.note.create"),
    ("Add a person who may become a customer as a lead", "crm.lead.create"),
    ("Log the telephone call that I had with the customer", "crm.call_log.create"),
    ("Make a quote with ten percent discount for the deal", "crm.quote.create"),
    ("Which invoices are overdue?", "billing.invoice.list"),
    ("Give the customer his money back", "billing.refund.create"),
    ("Cancel the monthly subscription of a customer for good", "billing.subscription.delete"),
    ("Make a discount code for twenty percent", "billing.coupon.create"),
    ("Answer the chargeback that the bank opened with evidence", "billing.dispute.update"),
    ("Bill a customer for three hours of consulting", "billing.invoice.create"),
    ("Start a new virtual machine in Frankfurt", "cloud.instance.create"),
    ("Back up the disk before the upgrade", "cloud.snapshot.create"),
    ("Point the domain shop.example to the new address", "cloud.dns_record.update"),
    ("Open port 443 in the firewall", "cloud.firewall_rule.create"),
    ("When does the TLS certificate of our domain expire?", "cloud.certificate.get"),
    ("Remove the storage bucket with the old files", "cloud.bucket.delete"),
    ("Is there an outage that somebody works on?", "monitor.incident.list"),
    ("Mute the alerts for two hours during maintenance", "monitor.silence.create"),
    ("Search the logs of the payment service for timeouts", "monitor.log_query.list"),
    ("Who is on call tonight?", "monitor.on_call_shift.list"),
    ("Check every minute whether the web site answers", "monitor.uptime_check.create"),
    ("Show the CPU load of the last day", "monitor.metric.list"),
    ("Put the onboarding guide into the wiki", "docs.page.create"),
    ("Write these numbers into cells B2 to B9 of the spreadsheet", "docs.cell_range.update"),
    ("Make a presentation with five slides", "docs.slide_deck.create"),
    ("Let Dana edit the document", "docs.share.create"),
    ("Turn the document into a PDF", "docs.export.create"),
    ("Ask all colleagues three questions in a survey", "docs.form.create"),
    ("Where is the parcel of order 1182? I need its tracking number", "shop.shipment.list"),
    ("How many pieces of the blue mug does the warehouse have?", "shop.stock_level.get"),
    ("Put a new mug up for sale", "shop.product.create"),
    ("Show reviews with one star that buyers wrote", "shop.review.list"),
    ("A buyer wants to send the parcel back", "shop.return.create"),
    ("What did the buyer order last week?", "shop.order.list"),
    ("Ask for vacation from the third to the tenth of August", "people.time_off.create"),
    ("Hand in the receipt of the taxi as an expense", "people.expense.create"),
    ("Show me my payslip of May with all deductions", "people.payslip.get"),
    ("Schedule an interview with the candidate", "people.interview.create"),
    ("Advertise a vacant position in the data team", "people.job_opening.create"),
    ("Enter the hours that I worked this week", "people.timesheet.create"),
]


def tool(thing, one, many, fields, action):
    about = ACTIONS[action].format(a=one, all=many)
    names = {"list": ["query", "page"], "get": ["id"], "delete": ["id"]}.get(action, fields.split())
    if action == "update":
        names = ["id"] + names
    properties = {name: {"type": "string", "description": f"The {name.replace('_', ' ')} of the {thing.replace('_', ' ')}."} for name in names}
    return {
        "name": f"{action}_{thing}",
        "description": about,
        "inputSchema": {"type": "object", "properties": properties, "required": [] if action == "list" else names[:1]},
    }


def tools(service):
    return [tool(thing, one, many, fields, action) for thing, one, many, fields in SERVICES[service] for action in ACTIONS]


def serve(service):
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if number is None:
            continue
        if method == "initialize":
            version = message["params"]["protocolVersion"]
            result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": {"name": service, "version": "1"}}
        elif method == "tools/list":
            result = {"tools": tools(service)}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": f"{service}: {json.dumps(message['params'], sort_keys=True)}"}]}
        else:
            error = {"code": -32601, "message": f"no method {method}"}
            print(json.dumps({"jsonrpc": "2.0", "id": number, "error": error}), flush=True)
            continue
        print(json.dumps({"jsonrpc": "2.0", "id": number, "result": result}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--tasks":
        names = [(task, name.split(".")) for task, name in TASKS]
        print(json.dumps([[task, f"mcp_{service}_{action}_{thing}"] for task, (service, thing, action) in names]))
    elif sys.argv[1] == "--services":
        print("\n".join(SERVICES))
    else:
        serve(sys.argv[1])
