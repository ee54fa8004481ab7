# Some partitions of a topic and no others, ever: here those in which a producer puts one tenant's messages.
#
#   terraform apply -var bootstrap_servers=127.0.0.1:9092

terraform {
  required_version = ">= 1.11"
  required_providers {
    featurestore = {
      source = "featurestore/featurestore"
    }
  }
}

variable "bootstrap_servers" {
  description = "Address of the Kafka broker, host:port."
  type        = string
}

variable "topic" {
  description = "Topic with one JSON order per message."
  type        = string
  default     = "orders"
}

variable "partitions" {
  description = "The partitions to read. One that is not there yet is read from its first message when it is added."
  type        = list(number)
  default     = [0, 2]
}

# The endpoint comes from FEATURESTORE_ENDPOINT, or is the local agent's default.
provider "featurestore" {}

resource "featurestore_connection" "kafka" {
  name = "local-kafka"
  kafka = {
    bootstrap_servers = var.bootstrap_servers
    security_protocol = "PLAINTEXT"
  }
}

resource "featurestore_stream" "tenant" {
  name        = "main.shop.tenant_orders"
  description = "Orders of one tenant"

  source_config = {
    kafka_stream_config = {
      subscription_mode = { assign = jsonencode({ (var.topic) = var.partitions }) }
      extra_options = {
        # Partition 0 from its first message; what is not named here starts at its end.
        startingOffsets = jsonencode({ (var.topic) = { "0" = -2 } })
        # At most so many messages in one commit.
        maxOffsetsPerTrigger = "10000"
      }
    }
  }

  connection_config = {
    uc_connection_name = featurestore_connection.kafka.name
  }

  schema_config = {
    direct_schemas = {
      payload_schema = {
        json_schema = jsonencode({
          type = "object"
          properties = {
            order_id = { type = "integer", format = "int64" }
            amount   = { type = "number" }
          }
        })
      }
    }
  }

  ingestion_config = {
    ingestion_destination = {
      delta_table_name = "main.shop.tenant_orders_raw"
    }
  }
}
